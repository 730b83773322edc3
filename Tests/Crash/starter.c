// Starts a program many times (LD_PRELOAD): it is loaded and linked once, and forked right before its `main`. Each line on
// standard input is a folder, for a process that runs there. Standard output has "started PID", what the process writes, and, on a
// line of its own, "ended STATUS": negative for a signal.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

typedef int program(int, char **, char **);
typedef void function(void);
typedef int start(program *, int, char **, function *, function *, function *, void *);

int __libc_start_main(
    program *main, int count, char **arguments, function *init, function *fini, function *loader_fini, void *stack) {
    start *next = (start *)dlsym(RTLD_NEXT, "__libc_start_main");
    char folder[4096];
    while (fgets(folder, sizeof folder, stdin)) {
        folder[strcspn(folder, "\n")] = 0;
        pid_t process = fork();
        if (process < 0) return 71;
        if (process == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
            if (chdir(folder) || dup2(nothing, 0) < 0 || dup2(1, 2) < 0) _exit(71);
            dprintf(1, "started %d\n", getpid());
            return next(main, count, arguments, init, fini, loader_fini, stack);
        }
        int status;
        if (waitpid(process, &status, 0) != process) return 71;
        dprintf(1, "\nended %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
    }
    _exit(0);
}
