/// The keys of this module's log metadata.
enum LogKey {
    static let error = "postgres.error"
    static let message = "postgres.message"
    static let reason = "postgres.reason"
    static let severity = "postgres.severity"
    static let statement = "postgres.statement"
    static let sqlState = "postgres.sqlstate"
}
