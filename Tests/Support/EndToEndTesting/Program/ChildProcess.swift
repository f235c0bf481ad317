import Foundation
package import Glibc
import Synchronization

/// A child process.
///
/// Its own thread starts it and waits for its end, because the kernel's parent-death signal follows that thread. A child outlives neither
/// its test nor a killed test process.
package final class ChildProcess: Sendable {
    /// How a process ended.
    package enum Ending: Hashable, Sendable {
        case exit(Int32)
        case signal(Int32)
    }

    private struct State {
        var pid: pid_t = 0
        var ending: Ending?
        var computing = Duration.zero
    }

    private let state = Mutex(State())
    /// A socket pair without data: when the child ends, `alive` is closed, and `ended` reads the end of file.
    private let (ended, alive): (Int32, Int32)

    private init() throws {
        var ends: [Int32] = [0, 0]
        // Not pipe(2): no other child may inherit `alive`.
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
            throw ProgramFailure(what: "no socket pair: \(String(cString: strerror(errno)))")
        }
        (ended, alive) = (ends[0], ends[1])
    }

    deinit {
        close(ended)
    }

    package static func start(_ command: ChildCommand) async throws -> ChildProcess {
        let child = try ChildProcess()
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            Thread.detachNewThread {
                do {
                    let pid = try command.spawn()
                    child.state.withLock { $0.pid = pid }
                    continuation.resume()
                } catch {
                    close(child.alive)
                    return continuation.resume(throwing: error)
                }
                child.reap()
            }
        }
        return child
    }

    package var ending: Ending? { state.withLock { $0.ending } }
    package var pid: pid_t { state.withLock { $0.pid } }
    /// Processor time; zero until the child has ended.
    package var computing: Duration { state.withLock { $0.computing } }

    package func signal(_ signal: Int32) {
        // Under the lock: the child is not reaped yet, so that the pid is not reused.
        state.withLock { if $0.ending == nil { kill($0.pid, signal) } }
    }

    /// Waits for the child's end or for another readable descriptor; nil while the child runs.
    package func ending(within duration: Duration, orReadable descriptor: Int32? = nil) async throws -> Ending? {
        let ended = ended
        _ = try await blocking { Deadline(within: duration).awaitReadable([ended, descriptor].compactMap(\.self)) }
        return ending
    }

    private func reap() {
        let pid = pid
        var information = siginfo_t()
        while waitid(P_PID, id_t(pid), &information, WEXITED | WNOWAIT) < 0 && errno == EINTR {}
        state.withLock { state in
            var status: Int32 = 0
            var usage = rusage()
            wait4(pid, &status, 0, &usage)
            state.computing = usage.computing
            let signal = status & 0x7f
            state.ending = signal == 0 ? .exit((status >> 8) & 0xff) : .signal(signal)
        }
        close(alive)
    }
}

extension rusage {
    /// User and system time.
    package var computing: Duration {
        .seconds(ru_utime.tv_sec + ru_stime.tv_sec) + .microseconds(ru_utime.tv_usec + ru_stime.tv_usec)
    }
}
