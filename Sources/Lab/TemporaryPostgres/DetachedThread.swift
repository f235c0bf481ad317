import Glibc

/// Operating system threads for blocking work, which must not run on Swift's cooperative threads.
package enum DetachedThread {
    /// Runs `body` on a new thread.
    package static func start(_ body: @escaping @Sendable () -> Void) throws(ClusterError) {
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        defer { pthread_attr_destroy(&attributes) }
        pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        let work = Unmanaged.passRetained(Work(body: body))
        var thread = pthread_t()
        let status = pthread_create(
            &thread,
            &attributes,
            { argument in
                guard let argument else { return nil }
                Unmanaged<Work>.fromOpaque(argument).takeRetainedValue().body()
                return nil
            },
            work.toOpaque()
        )
        guard status == 0 else {
            work.release()
            throw ClusterError(.system, "no thread could be started: \(String(cString: strerror(status)))")
        }
    }

    /// Runs `body` on a new thread and returns when it has ended; on the calling thread when none can be started.
    static func run(_ body: @escaping @Sendable () -> Void) async {
        await withCheckedContinuation { continuation in
            let work: @Sendable () -> Void = {
                body()
                continuation.resume()
            }
            do { try start(work) } catch { work() }
        }
    }

    private final class Work {
        let body: @Sendable () -> Void

        init(body: @escaping @Sendable () -> Void) {
            self.body = body
        }
    }
}
