import Dispatch
import Glibc
import Synchronization

/// SIGINT and SIGTERM, for a process that must leave nothing behind.
package enum EndingSignals {
    private static let sources = Mutex<[any DispatchSourceSignal]>([])

    /// From now on both signals end the children, remove the folders and end this process with 128 and the signal's number, as a shell
    /// would tell it, however busy its other threads are.
    package static func cleanUp() {
        sources.withLock { sources in
            let queue = DispatchQueue(label: "ending signals")
            for number in [SIGINT, SIGTERM] {
                // A source of Dispatch sees the signal beside its disposition, which would end the process first.
                signal(number, SIG_IGN)
                let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
                source.setEventHandler { Leftovers.end(status: 128 + number) }
                source.resume()
                sources.append(source)
            }
        }
    }
}
