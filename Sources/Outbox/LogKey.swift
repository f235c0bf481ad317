/// The keys of what this module logs.
enum LogKey {
    static let call = "outbox.call"
    static let kind = "outbox.kind"
    static let reason = "outbox.reason"
    static let error = "error"
}
