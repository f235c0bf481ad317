import CLibPQ
import Glibc

/// An operating system thread for C calls that block, which must not run on Swift's cooperative threads.
package enum DetachedThread {
    /// Runs `body` on a new thread, which ends with it.
    ///
    /// - Parameter name: The thread's name in `top -H`; at most 15 bytes.
    package static func start(named name: StaticString, _ body: @escaping @Sendable () -> Void) throws(PostgresError) {
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        defer { pthread_attr_destroy(&attributes) }
        pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        let work = Unmanaged.passRetained(Work(name: name, body: body))
        var thread = pthread_t()
        let status = pthread_create(
            &thread,
            &attributes,
            { argument in
                guard let argument else { return nil }
                let work = Unmanaged<Work>.fromOpaque(argument).takeRetainedValue()
                work.name.withUTF8Buffer { clibpq_name_thread($0.baseAddress) }
                work.body()
                return nil
            },
            work.toOpaque()
        )
        if status != 0 {
            work.release()
            throw PostgresError(.connectionFailed, "cannot start a thread: \(String(cString: strerror(status)))")
        }
    }

    private final class Work {
        let name: StaticString
        let body: @Sendable () -> Void

        init(name: StaticString, body: @escaping @Sendable () -> Void) {
            self.name = name
            self.body = body
        }
    }
}
