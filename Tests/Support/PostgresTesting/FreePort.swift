import TemporaryPostgres

/// TCP ports of the loopback interface.
package enum FreePort {
    /// A port without a listener at the time of the call.
    package static func find() -> Int {
        do {
            return try TemporaryPostgres.FreePort.find()
        } catch {
            fatalError("\(error)")
        }
    }
}
