import PrivateCluster

/// TCP ports of the loopback interface.
package enum FreePort {
    /// A port on which nobody listens at this moment.
    package static func find() -> Int {
        do {
            return try PrivateCluster.FreePort.find()
        } catch {
            fatalError("\(error)")
        }
    }
}
