/* sources: gen/tree.c gen/tree_fs.c gen/tree_journal.c gen/tree_place.c
 *          gen/tree_plan.c gen/tree_record.c gen/tree_stage.c
 *          runtime/core/sha256.c */
/* Permissions, full disks and mounts. As root the commits run in a child that
 * gives its rights up; mounts are made in a child's own name space, and those
 * tests are skipped where that is not allowed.
 */
#define _GNU_SOURCE
#include "tree_fixture.h"

#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>

#define NOBODY 65534

/* What a child found: its commit's status and messages. */
typedef struct outcome {
    int status;
    char messages[4000];
} outcome;

/* Prepares the child; nonzero: not possible here, so skip the test. */
typedef int prepare_fn(void);

static void child_commits(fixture *f, prepare_fn *prepare, int to)
{
    outcome o = {.status = -1};
    if (prepare() == 0) {
        o.status = (int)f->commit(&f->change, &f->sink);
        memcpy(o.messages, f->sink.text, sizeof o.messages);
    }
    _exit(write(to, &o, sizeof o) == (ssize_t)sizeof o ? 0 : 1);
}

static outcome commit_in_child(fixture *f, prepare_fn *prepare)
{
    outcome o;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        child_commits(f, prepare, ends[1]);
    }
    close(ends[1]);
    assert_int_equal(read(ends[0], &o, sizeof o), sizeof o);
    close(ends[0]);
    assert_int_equal(wait_for(child), 0);
    return o;
}

static void assert_fails(fixture *f, prepare_fn *prepare, const char *message)
{
    outcome o = commit_in_child(f, prepare);
    assert_string_equal(o.messages, message);
    assert_int_equal(o.status, TREE_IO);
}

/* --- permissions ---------------------------------------------------------- */

static int drop_rights(void)
{
    if (geteuid() != 0) {
        return 0;
    }
    return setgid(NOBODY) != 0 || setuid(NOBODY) != 0;
}

static void give(const char *path)
{
    if (geteuid() == 0) {
        assert_int_equal(lchown(path, NOBODY, NOBODY), 0);
    }
}

static const tree_file some_files[] = {TEXT("a", "new"), TEXT("d/b", "new")};

/* An old tree of the user who will commit. */
static void put_tree(fixture *f)
{
    f->change = (tree_change){"p/out", some_files, 2, NULL, 0};
    put("p/out/a", "old");
    put("p/out/d/b", "old");
    give("p");
    give("p/out");
    give("p/out/a");
    give("p/out/d");
    give("p/out/d/b");
}

#define OLD_TREE "out/ out/a=old out/d/ out/d/b=old "

static void test_read_only_root(void **state)
{
    fixture *f = *state;
    put_tree(f);
    assert_int_equal(chmod("p/out", 0555), 0);
    assert_fails(f, drop_rights, "p/out: cannot write: Permission denied\n");
    assert_tree("p", OLD_TREE);
}

static void test_unreadable_root(void **state)
{
    fixture *f = *state;
    put_tree(f);
    assert_int_equal(chmod("p/out", 0), 0);
    assert_fails(f, drop_rights, "p/out: cannot open: Permission denied\n");
    assert_int_equal(chmod("p/out", 0755), 0);
    assert_tree("p", OLD_TREE);
}

static void test_unreadable_file(void **state)
{
    fixture *f = *state;
    put_tree(f);
    put("p/out/a", "wen");
    assert_int_equal(chmod("p/out/a", 0), 0);
    assert_fails(f, drop_rights, "p/out/a: cannot read: Permission denied\n");
    assert_int_equal(chmod("p/out/a", 0644), 0);
    assert_tree("p", "out/ out/a=wen out/d/ out/d/b=old ");
}

static void test_read_only_below(void **state)
{
    fixture *f = *state;
    put_tree(f);
    assert_int_equal(chmod("p/out/d", 0555), 0);
    assert_fails(f, drop_rights,
                 "p/out/d/b: cannot write: Permission denied\n");
    assert_tree("p", OLD_TREE);
}

static void test_read_only_parent(void **state)
{
    fixture *f = *state;
    put_tree(f);
    assert_int_equal(chmod("p", 0555), 0);
    outcome o = commit_in_child(f, drop_rights);
    assert_int_equal(o.status, TREE_IO);
    assert_string_equal(o.messages,
                        f->commit == tree_commit
                            ? "p/out: cannot create the new tree beside it: "
                              "Permission denied\n"
                            : "p/out: cannot write a journal beside it: "
                              "Permission denied\n");
    assert_tree("p", OLD_TREE);
}

/* No tree yet, and no right to make one, or its parents. */
static void test_no_right_to_create(void **state)
{
    fixture *f = *state;
    f->change = (tree_change){"p/out", some_files, 2, NULL, 0};
    assert_int_equal(mkdir("p", 0555), 0);
    assert_fails(f, drop_rights,
                 "p/out: cannot create the new tree beside it: Permission "
                 "denied\n");
    f->change.root = "p/q/out";
    assert_fails(f, drop_rights,
                 "p/q/out: cannot create its parents: Permission denied\n");
    assert_tree("p", "");
}

/* A read-only parent does not matter while nothing differs. */
static void test_fresh_and_read_only(void **state)
{
    fixture *f = *state;
    put_tree(f);
    put("p/out/a", "new");
    put("p/out/d/b", "new");
    assert_int_equal(chmod("p", 0555), 0);
    assert_int_equal(chmod("p/out", 0555), 0);
    assert_int_equal(commit_in_child(f, drop_rights).status, TREE_OK);
}

/* A foreign directory that could not be emptied, files that could not be
 * linked: they stay where they are, and the journal's way is taken. */
static void test_foreign_without_rights(void **state)
{
    fixture *f = *state;
    put_tree(f);
    put("p/out/mine/x", "x");
    put("p/out/d/y", "y");
    assert_int_equal(chmod("p/out/d/y", 0600), 0);
    assert_int_equal(chmod("p/out/mine", 0), 0);
    ino_t inode = stat_of("p/out/mine").st_ino;
    assert_int_equal(commit_in_child(f, drop_rights).status, TREE_OK);
    assert_int_equal(stat_of("p/out/mine").st_ino, inode);
    assert_int_equal(chmod("p/out/mine", 0755), 0);
    assert_tree("p", "out/ out/a=new out/d/ out/d/b=new out/d/y=y out/mine/ "
                     "out/mine/x=x ");
}

/* --- full disks ----------------------------------------------------------- */

static const char big[100000] = {'b'};

static int limit_files(void)
{
    const struct rlimit limit = {60000, 60000};
    signal(SIGXFSZ, SIG_IGN);
    return setrlimit(RLIMIT_FSIZE, &limit);
}

static void test_file_too_large(void **state)
{
    const tree_file files[] = {TEXT("a", "new"), {"new/c", big, sizeof big}};
    fixture *f = *state;
    put_tree(f);
    f->change = (tree_change){"p/out", files, 2, NULL, 0};
    assert_fails(f, limit_files,
                 f->commit == tree_commit
                     ? "p/out/new/c: cannot write: File too large\n"
                     : "p/out: cannot write a journal beside it: File too "
                       "large\n");
    assert_tree("p", OLD_TREE);
    f->change.root = "q/r/out";
    assert_fails(f, limit_files,
                 "q/r/out/new/c: cannot write: File too large\n");
    assert_int_equal(access("q", F_OK), -1);
}

static int own_mounts(void)
{
    return unshare(CLONE_NEWNS) != 0 ||
           mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0;
}

/* Runs check in a child with mounts of its own; it exits with 0 when all is
 * well, 77 where mounting is refused. */
static void run_with_mounts(fixture *f, int (*check)(fixture *))
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        _exit(own_mounts() != 0 ? 77 : check(f));
    }
    int status = wait_for(child);
    if (status == 77) {
        skip();
    }
    assert_int_equal(status, 0);
}

/* In a child: ends it with a line instead of a jump into the parent's test. */
#define CHECK(condition)                                                       \
    do {                                                                       \
        if (!(condition)) {                                                    \
            fprintf(stderr, "line %d: %s\n%s", __LINE__, #condition,           \
                    f->sink.text);                                             \
            return 1;                                                          \
        }                                                                      \
    } while (0)

static bool is_tree(const char *root, const char *want)
{
    char *text;
    size_t n;
    FILE *to = open_memstream(&text, &n);
    list(to, root, "");
    fclose(to);
    bool same = strcmp(text, want) == 0;
    if (!same) {
        fprintf(stderr, "is   {%s}\nwant {%s}\n", text, want);
    }
    free(text);
    return same;
}

/* Ever less room, down to none: each commit does all or nothing. */
static int fill_disk(fixture *f)
{
    const tree_file files[] = {TEXT("a", "new"),
                               TEXT("d/b", "new"),
                               {"d/c", big, sizeof big},
                               {"e/f", big, sizeof big}};
    const tree_change old = {"disk/out", some_files, 2, NULL, 0};
    int refused = 0;
    mkdir("disk", 0755);
    if (mount("none", "disk", "tmpfs", 0, "size=640k,mode=0755") != 0) {
        return 77;
    }
    CHECK(f->commit(&old, &f->sink) == TREE_OK);
    f->change = (tree_change){"disk/out", files, 4, NULL, 0};
    FILE *ballast = fopen("disk/ballast", "w");
    CHECK(ballast != NULL);
    for (int i = 0; i < 160; i++) {
        const char *const gone[] = {"d/c", "e/f"};
        const tree_change back = {"disk/out", some_files, 2, gone, 2};
        f->sink.text[0] = '\0';
        if (f->commit(&f->change, &f->sink) == TREE_OK) {
            CHECK(f->commit(&back, &f->sink) == TREE_OK);
        } else {
            CHECK(strstr(f->sink.text, "No space left on device\n") != NULL);
            refused++;
        }
        CHECK(is_tree("disk/out", "a=new d/ d/b=new "));
        CHECK(access("disk/.out.new", F_OK) != 0);
        CHECK(access("disk/.out.journal", F_OK) != 0);
        fwrite(big, 1, 4096, ballast);
        fflush(ballast);
    }
    fclose(ballast);
    CHECK(refused > 20 && refused < 160);
    return 0;
}

static void test_full_disk(void **state)
{
    run_with_mounts(*state, fill_disk);
}

/* --- mounts --------------------------------------------------------------- */

#define NEW_TREE "out/ out/a=new out/d/ out/d/b=new "

static int root_is_mount(fixture *f)
{
    if (mount("p/out", "p/out", NULL, MS_BIND, NULL) != 0) {
        return 77;
    }
    ino_t inode = stat_of("p/out").st_ino;
    CHECK(f->commit(&f->change, &f->sink) == TREE_OK);
    CHECK(is_tree("p", NEW_TREE));
    CHECK(stat_of("p/out").st_ino == inode);
    return 0;
}

static void test_root_is_mount(void **state)
{
    put_tree(*state);
    run_with_mounts(*state, root_is_mount);
}

/* A foreign mount inside the tree, even an empty one, stays mounted. */
static int mount_below(fixture *f)
{
    mkdir("p/out/far", 0755);
    if (mount("none", "p/out/far", "tmpfs", 0, "size=64k,mode=0755") != 0) {
        return 77;
    }
    CHECK(f->commit(&f->change, &f->sink) == TREE_OK);
    CHECK(is_tree("p", NEW_TREE "out/far/ "));
    CHECK(umount("p/out/far") == 0);
    const tree_file files[] = {TEXT("d/b", "newer")};
    f->change = (tree_change){"p/out", files, 1, NULL, 0};
    CHECK(mount("p/out/d", "p/out/d", NULL, MS_BIND, NULL) == 0);
    CHECK(f->commit(&f->change, &f->sink) == TREE_IO);
    CHECK(strcmp(f->sink.text, "p/out/d/b: is on a mount of its own inside the "
                               "output tree: unmount it\n") == 0);
    CHECK(is_tree("p", NEW_TREE "out/far/ "));
    return 0;
}

static void test_mount_below(void **state)
{
    put_tree(*state);
    run_with_mounts(*state, mount_below);
}

static int read_only_mount(fixture *f)
{
    if (mount("p", "p", NULL, MS_BIND, NULL) != 0 ||
        mount(NULL, "p", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL) != 0) {
        return 77;
    }
    CHECK(f->commit(&f->change, &f->sink) == TREE_IO);
    CHECK(strcmp(f->sink.text,
                 "p/out: cannot write: Read-only file system\n") == 0);
    CHECK(is_tree("p", OLD_TREE));
    return 0;
}

static void test_read_only_mount(void **state)
{
    put_tree(*state);
    run_with_mounts(*state, read_only_mount);
}

/* Directories of a lower layer cannot be exchanged: EXDEV. */
static int lower_layer(fixture *f)
{
    const char *const gone[] = {"g/h"};
    f->change = (tree_change){"o/all/out", some_files, 2, gone, 1};
    mkdir("o", 0755);
    if (mount("none", "o", "tmpfs", 0, "size=1m,mode=0755") != 0) {
        return 77;
    }
    put("o/low/out/a", "old");
    put("o/low/out/g/h", "old");
    put("o/low/out/mine/x", "x");
    mkdir("o/up", 0755);
    mkdir("o/work", 0755);
    mkdir("o/all", 0755);
    if (mount("none", "o/all", "overlay", 0,
              "lowerdir=o/low,upperdir=o/up,workdir=o/work") != 0) {
        return 77;
    }
    CHECK(f->commit(&f->change, &f->sink) == TREE_OK);
    CHECK(is_tree("o/all", NEW_TREE "out/mine/ out/mine/x=x "));
    return 0;
}

static void test_lower_layer(void **state)
{
    run_with_mounts(*state, lower_layer);
}

#define WAYS(test)                                                             \
    {#test " (exchange)", test, set_up_exchange, tear_down, NULL},             \
    {                                                                          \
#test " (journal)", test, set_up_journal, tear_down, NULL              \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        WAYS(test_read_only_root),      WAYS(test_unreadable_root),
        WAYS(test_unreadable_file),     WAYS(test_read_only_below),
        WAYS(test_read_only_parent),    WAYS(test_no_right_to_create),
        WAYS(test_fresh_and_read_only), WAYS(test_foreign_without_rights),
        WAYS(test_file_too_large),      WAYS(test_full_disk),
        WAYS(test_root_is_mount),       WAYS(test_mount_below),
        WAYS(test_read_only_mount),     WAYS(test_lower_layer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
