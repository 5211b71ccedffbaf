#include "error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

kiln_status kiln_fail(kiln_error *err, kiln_status status, const char *format,
                      ...)
{
    va_list list;

    va_start(list, format);
    (void)vsnprintf(err->text, sizeof err->text, format, list);
    va_end(list);
    err->status = status;
    return status;
}

void kiln_fail_more(kiln_error *err, const char *format, ...)
{
    size_t used = strlen(err->text);
    va_list list;

    va_start(list, format);
    (void)vsnprintf(err->text + used, sizeof err->text - used, format, list);
    va_end(list);
}
