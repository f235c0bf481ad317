/// The keys of what this module logs.
enum LogKey {
    static let endpoint = "server_api.endpoint"
    static let app = "app"
    static let environment = "environment"
    static let status = "server_api.status"
    static let code = "server_api.code"
    static let requestID = "server_api.request_id"
    static let key = "server_api.key"
    static let reason = "server_api.reason"
    static let remedy = "server_api.remedy"
    static let error = "error"
}
