/// The keys of what this module logs.
enum LogKey {
    static let endpoint = "webhooks.endpoint"
    static let epoch = "webhooks.epoch"
    static let reason = "webhooks.reason"
    static let position = "webhooks.position"
    static let result = "webhooks.result"
    static let error = "error"
}
