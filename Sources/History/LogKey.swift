/// The keys of what this module logs.
enum LogKey {
    static let app = "history.app"
    static let environment = "history.environment"
    static let window = "history.window"
    static let from = "history.from"
    static let to = "history.to"
    static let reason = "history.reason"
    static let stored = "history.stored"
    static let error = "error"
}
