import Synchronization
import TemporaryPostgres

/// TCP ports of the loopback interface.
package enum FreePort {
    private static let given = Mutex<Set<Int>>([])

    /// A port without a listener at the time of the call; each one is given once, since its listener may start later.
    package static func find() -> Int {
        do {
            while true {
                let port = try TemporaryPostgres.FreePort.find()
                if given.withLock({ $0.insert(port).inserted }) { return port }
            }
        } catch {
            fatalError("\(error)")
        }
    }
}
