import Dispatch
import Glibc
import Synchronization

/// Handles SIGINT and SIGTERM: removes temporary folders and ends child processes.
package enum TerminationHandler {
    private static let sources = Mutex<[any DispatchSourceSignal]>([])

    /// Installs the handler. It ends the children, removes the folders and exits with 128 plus the signal's number.
    ///
    /// It runs on a thread of Dispatch, so busy cooperative threads do not delay it.
    package static func cleanUp() {
        sources.withLock { sources in
            let queue = DispatchQueue(label: "termination signals")
            for number in [SIGINT, SIGTERM] {
                // A dispatch source does not replace the default action, which would end the process first.
                signal(number, SIG_IGN)
                let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
                source.setEventHandler { CleanupRegistry.end(status: 128 + number) }
                source.resume()
                sources.append(source)
            }
        }
    }
}
