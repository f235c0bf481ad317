/// The keys of this module's log metadata.
enum LogKey {
    static let listenerAddress = "listener.address"
    static let listenerPort = "listener.port"
    static let connectionError = "connection.error"
}
