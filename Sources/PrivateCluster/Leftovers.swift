import Glibc
import Synchronization

/// What is to be ended and removed when the process exits by itself; when it is killed, its children get a signal from the kernel, and
/// its folders are removed by the next one.
package enum Leftovers {
    private struct State {
        var folders: Set<String> = []
        /// And the signal that ends each.
        var processes: [pid_t: Int32] = [:]
        var isHooked = false
        var isEnding = false
    }

    private static let state = Mutex(State())
    private static let cleaning = Mutex(())

    /// Ends all children at once, removes all folders, and ends this process without a word to anybody else in it.
    package static func end(status: Int32) -> Never {
        cleaning.withLock { _ in
            clean()
            _exit(status)
        }
    }

    /// Removes one folder now. Who ends the process meanwhile waits for it; once he has begun, he removes it himself.
    package static func remove(folder: String) {
        cleaning.withLock { _ in
            guard !state.withLock(\.isEnding) else { return }
            remove(folders: [folder])
            _ = state.withLock { $0.folders.remove(folder) }
        }
    }

    static func register(folder: String) {
        let isFirst = state.withLock { state in
            state.folders.insert(folder)
            defer { state.isHooked = true }
            return !state.isHooked
        }
        if isFirst { atexit { Leftovers.cleaning.withLock { _ in Leftovers.clean() } } }
    }

    static func register(process: pid_t, endSignal: Int32) {
        let isLate = state.withLock { state in
            state.processes[process] = endSignal
            return state.isEnding
        }
        if isLate { kill(process, endSignal) }
    }

    static func forget(process: pid_t) {
        _ = state.withLock { $0.processes.removeValue(forKey: process) }
    }

    private static func clean() {
        let (folders, processes) = state.withLock { state in
            state.isEnding = true
            return (state.folders, state.processes)
        }
        for (process, signal) in processes { kill(process, signal) }
        // Reaped by the threads that started them; one that is not gone after five seconds does not heed its signal.
        for process in processes.keys { awaitEnd(of: process) }
        remove(folders: Array(folders))
    }

    private static func awaitEnd(of process: pid_t) {
        for turn in 0..<1000 {
            // WNOWAIT: only the thread that started it takes its status.
            var information = siginfo_t()
            let result = waitid(P_PID, id_t(process), &information, WEXITED | WNOWAIT | WNOHANG)
            if result < 0 || information._sifields._sigchld.si_pid == process { return }
            if turn == 500 { kill(process, SIGKILL) }
            usleep(10_000)
        }
    }

    /// Hundreds of thousands of files, for which rm is several times faster than Foundation.
    static func remove(folders: [String]) {
        guard !folders.isEmpty else { return }
        let arguments = (["rm", "-rf", "--"] + folders).map { strdup($0) } + [nil]
        defer { for argument in arguments { free(argument) } }
        var pid = pid_t()
        guard posix_spawnp(&pid, "rm", nil, nil, arguments, environ) == 0 else { return }
        var status: Int32 = 0
        while waitpid(pid, &status, 0) < 0 && errno == EINTR {}
    }
}
