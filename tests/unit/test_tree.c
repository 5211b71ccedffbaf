/* sources: gen/tree.c gen/tree_fs.c gen/tree_journal.c gen/tree_place.c
 *          gen/tree_plan.c gen/tree_record.c gen/tree_stage.c
 *          runtime/core/sha256.c */
/* Each test has a folder of its own; most run both ways of committing. Kills
 * are in tree_kill.sh, faults of the disk in test_tree_faults.c.
 */
#define _GNU_SOURCE
#include "tree_fixture.h"

static void test_new_tree(void **state)
{
    fixture *f = *state;
    const char *const root = "a b/\xc3\xa9/\xe5\x87\xba/out";
    const tree_file files[] = {
        TEXT("x.c", "x"), TEXT("d d/\xc3\xbc.c", "y"), {"d d/empty", NULL, 0}};
    f->change = (tree_change){root, files, 3, NULL, 0};
    mode_t old = umask(027);
    assert_int_equal(f->commit(&f->change, &f->sink), TREE_OK);
    umask(old);
    assert_tree("a b", "\xc3\xa9/ \xc3\xa9/\xe5\x87\xba/ "
                       "\xc3\xa9/\xe5\x87\xba/out/ "
                       "\xc3\xa9/\xe5\x87\xba/out/d d/ "
                       "\xc3\xa9/\xe5\x87\xba/out/d d/empty= "
                       "\xc3\xa9/\xe5\x87\xba/out/d d/\xc3\xbc.c=y "
                       "\xc3\xa9/\xe5\x87\xba/out/x.c=x ");
    assert_int_equal(stat_of("a b/\xc3\xa9/\xe5\x87\xba/out").st_mode, 040750);
    assert_int_equal(stat_of("a b/\xc3\xa9/\xe5\x87\xba/out/x.c").st_mode,
                     0100640);
}

static void test_nothing_to_do(void **state)
{
    fixture *f = *state;
    const tree_file files[] = {TEXT("a", "1"), TEXT("d/b", "2")};
    const char *const gone[] = {"c", "d/e/f", "d"};
    f->change = (tree_change){"out", files, 2, gone, 3};
    put("out/a", "1");
    put("out/d/b", "2");
    long_ago("out/a");
    long_ago("out/d");
    long_ago("out");
    long_ago(".");
    struct stat before = stat_of("out");
    assert_int_equal(f->commit(&f->change, &f->sink), TREE_OK);
    struct stat after = stat_of("out");
    assert_int_equal(before.st_ino, after.st_ino);
    assert_memory_equal(&before.st_ctim, &after.st_ctim, sizeof before.st_ctim);
    assert_true(is_long_ago("out/a") && is_long_ago("out/d"));
    assert_true(is_long_ago("out") && is_long_ago("."));
}

/* No tree and no files: not even an empty tree is made. */
static void test_nothing_at_all(void **state)
{
    fixture *f = *state;
    f->change = (tree_change){"p/q/out", NULL, 0, NULL, 0};
    assert_int_equal(f->commit(&f->change, &f->sink), TREE_OK);
    assert_tree(".", "");
}

static void test_change(void **state)
{
    fixture *f = *state;
    const tree_file files[] = {TEXT("same", "s"), TEXT("d/changed", "new"),
                               TEXT("d/e/added", "n")};
    const char *const gone[] = {"g/h/i", "g/j", "k/l", "never/there"};
    f->change = (tree_change){"out", files, 3, gone, 4};
    put("out/same", "s");
    put("out/d/changed", "old");
    put("out/g/h/i", "i");
    put("out/g/j", "j");
    put("out/k/l", "l");
    put("out/k/foreign", "f");
    put("out/foreign/x", "x");
    assert_int_equal(mkdir("out/empty", 0711), 0);
    assert_int_equal(symlink("nowhere", "out/k/link"), 0);
    assert_int_equal(mkfifo("out/k/pipe", 0600), 0);
    assert_int_equal(chmod("out/d/changed", 0755), 0);
    assert_int_equal(chmod("out", 0751), 0);
    long_ago("out/same");
    long_ago("out/foreign/x");
    long_ago("out/foreign");
    ino_t same = stat_of("out/same").st_ino;
    ino_t foreign = stat_of("out/foreign/x").st_ino;
    assert_int_equal(f->commit(&f->change, &f->sink), TREE_OK);
    assert_tree(".", "out/ out/d/ out/d/changed=new out/d/e/ out/d/e/added=n "
                     "out/empty/ out/foreign/ out/foreign/x=x out/k/ "
                     "out/k/foreign=f out/k/link>nowhere out/k/pipe? "
                     "out/same=s ");
    assert_int_equal(stat_of("out/same").st_ino, same);
    assert_int_equal(stat_of("out/foreign/x").st_ino, foreign);
    assert_true(is_long_ago("out/same") && is_long_ago("out/foreign/x"));
    assert_true(is_long_ago("out/foreign"));
    assert_int_equal(stat_of("out/d/changed").st_mode, 0100755);
    assert_int_equal(stat_of("out").st_mode, 040751);
    assert_int_equal(stat_of("out/empty").st_mode, 040711);
}

static void test_linked_root(void **state)
{
    fixture *f = *state;
    const tree_file files[] = {TEXT("a", "new")};
    f->change = (tree_change){"link", files, 1, NULL, 0};
    put("far/real/a", "old");
    assert_int_equal(symlink("far/real", "link"), 0);
    assert_int_equal(f->commit(&f->change, &f->sink), TREE_OK);
    assert_tree(".", "far/ far/real/ far/real/a=new link>far/real ");
}

/* Files and directories of ours may change places. */
static void test_swap_kinds(void **state)
{
    fixture *f = *state;
    const tree_file files[] = {TEXT("a/x/y", "1"), TEXT("b", "2"),
                               TEXT("a-", "3")};
    const char *const gone[] = {"a", "b/c/d", "b/e"};
    f->change = (tree_change){"out", files, 3, gone, 3};
    put("out/a", "file");
    put("out/b/c/d", "d");
    put("out/b/e", "e");
    assert_int_equal(f->commit(&f->change, &f->sink), TREE_OK);
    assert_tree("out", "a/ a/x/ a/x/y=1 a-=3 b=2 ");
}

/* What is no regular file, where ours goes, is replaced, not followed. */
static void test_link_for_file(void **state)
{
    fixture *f = *state;
    const tree_file files[] = {TEXT("a", "new"), TEXT("p", "new")};
    const char *const gone[] = {"b"};
    f->change = (tree_change){"out", files, 2, gone, 1};
    put("outside", "mine");
    assert_int_equal(mkdir("out", 0755), 0);
    assert_int_equal(symlink("../outside", "out/a"), 0);
    assert_int_equal(symlink("../outside", "out/b"), 0);
    assert_int_equal(mkfifo("out/p", 0600), 0);
    assert_int_equal(f->commit(&f->change, &f->sink), TREE_OK);
    assert_tree(".", "out/ out/a=new out/p=new outside=mine ");
}

/* --- refusals ------------------------------------------------------------- */

static void assert_refused(fixture *f, const char *message)
{
    struct stat before = stat_of(".");
    f->sink.text[0] = '\0';
    assert_int_equal(f->commit(&f->change, &f->sink), TREE_IO);
    assert_string_equal(f->sink.text, message);
    struct stat after = stat_of(".");
    assert_memory_equal(&before.st_ctim, &after.st_ctim, sizeof before.st_ctim);
}

#define NO_PATH                                                                \
    ": is no path below the output tree: it has an empty, \".\" or \"..\" "    \
    "part\n"

static void test_bad_paths(void **state)
{
    static const struct {
        const char *path, *message;
    } cases[] = {
        {"/etc/x", "out//etc/x" NO_PATH},
        {"", "out/" NO_PATH},
        {"../x", "out/../x" NO_PATH},
        {"a/../x", "out/a/../x" NO_PATH},
        {"a/..", "out/a/.." NO_PATH},
        {"a//b", "out/a//b" NO_PATH},
        {"a/", "out/a/" NO_PATH},
        {"./a", "out/./a" NO_PATH},
        {"d/f", "out/d/f: is listed twice\n"},
        {"gone", "out/gone: is listed twice\n"},
        {"d", "out/d: is listed as a file and as a directory\n"},
        {"d/f/g", "out/d/f: is listed as a file and as a directory\n"},
    };
    fixture *f = *state;
    const char *const gone[] = {"gone"};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const tree_file files[] = {
            TEXT("d-", "x"), TEXT("d/f", "x"), {cases[i].path, "y", 1}};
        f->change = (tree_change){"out", files, 3, gone, 1};
        assert_refused(f, cases[i].message);
    }
    const char *const bad[] = {"../outside"};
    const tree_file files[] = {TEXT("..a/b..", "fine")};
    f->change = (tree_change){"out", files, 1, bad, 1};
    assert_refused(f, "out/../outside" NO_PATH);
    f->change.n_remove = 0;
    assert_int_equal(f->commit(&f->change, &f->sink), TREE_OK);
}

static void test_foreign_in_the_way(void **state)
{
    fixture *f = *state;
    const tree_file files[] = {TEXT("a", "x"), TEXT("b/c/d", "x"),
                               TEXT("e", "x"), TEXT("l/m", "x")};
    const char *const gone[] = {"a/ours", "l/n"};
    f->change = (tree_change){"out", files, 4, gone, 2};
    put("out/a/ours", "o");
    put("out/a/mine", "m");
    put("out/b/c", "c");
    put("far/n", "n");
    assert_int_equal(mkdir("out/e", 0755), 0);
    assert_int_equal(symlink("../far", "out/l"), 0);
    assert_refused(
        f, "out/a: is a directory, but a file of the output belongs there: "
           "move it away\n"
           "out/b/c: is not a directory, but a file of the output belongs "
           "below it: move it away\n"
           "out/e: is a directory, but a file of the output belongs there: "
           "move it away\n"
           "out/l: is not a directory, but a file of the output belongs "
           "below it: move it away\n");
    assert_tree(".", "far/ far/n=n out/ out/a/ out/a/mine=m out/a/ours=o "
                     "out/b/ out/b/c=c out/e/ out/l>../far ");
}

static void test_bad_roots(void **state)
{
    fixture *f = *state;
    const tree_file files[] = {TEXT("a", "x")};
    f->change = (tree_change){"file", files, 1, NULL, 0};
    put("file", "mine");
    assert_int_equal(symlink("nowhere", "link"), 0);
    assert_refused(f, "file: is not a directory: name another output tree or "
                      "move it away\n");
    f->change.root = "file/out";
    assert_refused(f, "file/out: cannot resolve the path: Not a directory\n");
    f->change.root = "link";
    assert_refused(f, "link: is a link to a path that does not exist: make "
                      "that directory or remove the link\n");
    f->change.root = "/";
    assert_refused(f, "/: cannot be an output tree: name a directory below "
                      "it\n");
    f->change.root = "new/..";
    assert_refused(f, "new/..: cannot be an output tree: name a directory "
                      "below it\n");
    f->change.root = ".";
    assert_refused(f, ".: is the current directory or holds it: name a "
                      "directory of its own\n");
    f->change.root = "";
    assert_refused(f, ": cannot be an output tree: name a directory below "
                      "it\n");
    assert_tree(".", "file=mine link>nowhere ");
}

/* --- what a killed run left ----------------------------------------------- */

static void test_leftovers(void **state)
{
    fixture *f = *state;
    const tree_file files[] = {TEXT("a", "1")};
    f->change = (tree_change){"out", files, 1, NULL, 0};
    put("out/a", "1");
    put(".out.new/a/b", "half");
    put(".out.journal", "kiln journal 1\nput 1 1\na\n2\nend 0123\n");
    assert_int_equal(f->commit(&f->change, &f->sink), TREE_OK);
    assert_tree(".", "out/ out/a=1 ");
}

static void put_journal(const char *body)
{
    char text[1000];
    char hex[65];
    snprintf(text, sizeof text, "kiln journal 1\n%s", body);
    kiln_sha256_hex(text, strlen(text), hex);
    snprintf(text + strlen(text), 100, "end %s\n", hex);
    put(".out.journal", text);
}

/* Mid-way: of put a, put b/c, remove d/e, remove f the run had done the last
 * and a part of its own folder. */
static void test_whole_journal(void **state)
{
    fixture *f = *state;
    const tree_file files[] = {TEXT("a", "2"), TEXT("z", "26")};
    f->change = (tree_change){"out", files, 2, NULL, 0};
    put("out/a", "1");
    put("out/d/e", "5");
    put("out/.out.new/0", "par");
    put_journal("put 1 1\na\n2\nput 3 4\nb/c\ntwo\n\nremove 3 0\nd/e\n\n"
                "remove 1 0\nf\n\n");
    assert_int_equal(tree_check(&f->change, f->report, &f->sink),
                     TREE_DIFFERENT);
    assert_report(f, "unfinished out\nchanged a\nmissing z\n");
    assert_int_equal(stat_of("out/d/e").st_size, 1);
    assert_int_equal(f->commit(&f->change, &f->sink), TREE_OK);
    assert_tree(".", "out/ out/a=2 out/b/ out/b/c=two\n out/z=26 ");
}

static void test_journal_of_no_tree(void **state)
{
    fixture *f = *state;
    const tree_file files[] = {TEXT("z", "26")};
    f->change = (tree_change){"out", files, 1, NULL, 0};
    put_journal("put 1 1\na\n2\n");
    assert_int_equal(f->commit(&f->change, &f->sink), TREE_OK);
    assert_tree(".", "out/ out/z=26 ");
}

/* Not ours, whatever its checksum says. */
static void test_hostile_journal(void **state)
{
    static const char *const bodies[] = {
        "put 5 1\n../x1\n2\n",
        "put 2 1\n/a\n2\n",
        "put 1 99\na\n2\n",
        "put 99 1\na\n2\n",
        "put 1 -1\na\n2\n",
        "put 1 1\n",
        "remove 4 0\n../x\n\n",
        "gibberish\n",
        "put 1\na\n2\n",
        "put 18446744073709551615 18446744073709551615\na\n2\n"};
    fixture *f = *state;
    const tree_file files[] = {TEXT("a", "1")};
    f->change = (tree_change){"out", files, 1, NULL, 0};
    put("out/a", "1");
    put("x", "mine");
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        put_journal(bodies[i]);
        assert_int_equal(f->commit(&f->change, &f->sink), TREE_IO);
        assert_non_null(strstr(f->sink.text, "out: is unfinished; "));
        assert_int_equal(unlink(".out.journal"), 0);
        assert_tree(".", "out/ out/a=1 x=mine ");
    }
}

/* --- checking ------------------------------------------------------------- */

static void test_check(void **state)
{
    fixture *f = *state;
    const tree_file files[] = {TEXT("z", "1"),   TEXT("d/e/f", "1"),
                               TEXT("b", "two"), TEXT("b-", "1"),
                               TEXT("a/x", "1"), TEXT("l/m", "1")};
    const char *const gone[] = {"y", "b.old", "d/gone", "x"};
    f->change = (tree_change){"out", files, 6, gone, 4};
    put("out/z", "1");
    put("out/b", "owt");
    put("out/a/x/foreign", "f");
    put("out/y", "y");
    put("out/b.old", "y");
    put("out/x/foreign", "x");
    put("far/m", "1");
    assert_int_equal(symlink("../far", "out/l"), 0);
    long_ago("out");
    long_ago(".");
    assert_int_equal(tree_check(&f->change, f->report, &f->sink),
                     TREE_DIFFERENT);
    assert_report(f, "changed a/x\nchanged b\nmissing b-\nextra b.old\n"
                     "missing d/e/f\nmissing l/m\nextra y\n");
    assert_true(is_long_ago("out") && is_long_ago("."));
    assert_string_equal(f->sink.text, "");
}

static void test_check_nothing(void **state)
{
    fixture *f = *state;
    const tree_file files[] = {TEXT("b", "1"), TEXT("a", "1")};
    f->change = (tree_change){"no/such/out", files, 2, NULL, 0};
    assert_int_equal(tree_check(&f->change, f->report, &f->sink),
                     TREE_DIFFERENT);
    assert_report(f, "missing a\nmissing b\n");
    f->change.n_files = 0;
    assert_int_equal(tree_check(&f->change, f->report, &f->sink), TREE_OK);
    assert_report(f, "");
    put("file", "x");
    f->change.root = "file";
    assert_int_equal(tree_check(&f->change, f->report, &f->sink), TREE_IO);
    assert_tree(".", "file=x ");
}

/* --- many at once --------------------------------------------------------- */

static int commit_often(fixture *f, int which)
{
    static const tree_file one[] = {TEXT("a", "1"), TEXT("d/x", "1")};
    static const tree_file two[] = {TEXT("a", "2"), TEXT("e/y", "22")};
    static const char *const gone_one[] = {"e/y"};
    static const char *const gone_two[] = {"d/x"};
    const tree_change changes[2] = {{"out", one, 2, gone_one, 1},
                                    {"out", two, 2, gone_two, 1}};
    for (int i = 0; i < 12; i++) {
        f->change = changes[(i + which) % 2];
        if (f->commit(&f->change, &f->sink) != TREE_OK) {
            fprintf(stderr, "%s", f->sink.text);
            return 1;
        }
    }
    return 0;
}

static void test_processes(void **state)
{
    fixture *f = *state;
    pid_t children[4];
    put("out/foreign", "f");
    for (int i = 0; i < 4; i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0) {
            _exit(commit_often(f, i));
        }
    }
    for (int i = 0; i < 4; i++) {
        assert_int_equal(wait_for(children[i]), 0);
    }
    assert_int_equal(commit_often(f, 0), 0);
    assert_tree(".", "out/ out/a=2 out/e/ out/e/y=22 out/foreign=f ");
}

/* A second one waits for the lock on the parent. */
static void test_lock(void **state)
{
    fixture *f = *state;
    const tree_file files[] = {TEXT("a", "1")};
    const struct timespec pause = {0, 100000000};
    int parent = open(".", O_RDONLY | O_DIRECTORY);
    f->change = (tree_change){"out", files, 1, NULL, 0};
    assert_int_equal(flock(parent, LOCK_EX), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        close(parent);
        _exit(f->commit(&f->change, &f->sink) == TREE_OK ? 0 : 1);
    }
    nanosleep(&pause, NULL);
    assert_int_equal(waitpid(child, NULL, WNOHANG), 0);
    assert_tree(".", "");
    assert_int_equal(flock(parent, LOCK_UN), 0);
    assert_int_equal(wait_for(child), 0);
    assert_tree(".", "out/ out/a=1 ");
    close(parent);
}

#define WAYS(test)                                                             \
    {#test " (exchange)", test, set_up_exchange, tear_down, NULL},             \
    {                                                                          \
#test " (journal)", test, set_up_journal, tear_down, NULL              \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        WAYS(test_new_tree),
        WAYS(test_nothing_to_do),
        WAYS(test_nothing_at_all),
        WAYS(test_change),
        WAYS(test_linked_root),
        WAYS(test_swap_kinds),
        WAYS(test_link_for_file),
        WAYS(test_bad_paths),
        WAYS(test_foreign_in_the_way),
        WAYS(test_bad_roots),
        WAYS(test_leftovers),
        WAYS(test_whole_journal),
        WAYS(test_journal_of_no_tree),
        WAYS(test_hostile_journal),
        WAYS(test_check),
        WAYS(test_check_nothing),
        WAYS(test_processes),
        WAYS(test_lock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
