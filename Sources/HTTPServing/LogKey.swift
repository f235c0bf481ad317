/// The keys of this module's log metadata.
enum LogKey {
    static let connectionError = "connection.error"
    static let listener = "listener"
    static let refusedStatus = "refused.status"
    static let refusedReason = "refused.reason"
    static let refusedPath = "refused.path"
}
