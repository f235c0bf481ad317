/// Why an exchange failed, and whether the connection is still usable.
struct ExchangeFailure: Error {
    let cause: any Error
    let endsConnection: Bool
    /// Whether the server still works on the exchange and was not asked to cancel it.
    var isUnanswered = false

    /// The server refused a statement; the connection is usable unless the error says that it is lost.
    static func refused(_ error: PostgresError) -> ExchangeFailure {
        ExchangeFailure(cause: error, endsConnection: error.code == .connectionLost)
    }

    static func broken(_ error: any Error) -> ExchangeFailure {
        ExchangeFailure(cause: error, endsConnection: true)
    }
}
