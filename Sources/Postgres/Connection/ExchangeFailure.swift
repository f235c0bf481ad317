/// The outcome of an exchange that failed, and whether the connection can still be used.
struct ExchangeFailure: Error {
    let cause: any Error
    let endsConnection: Bool
    /// Whether the server is at it still, and will be until it has an answer.
    var isUnanswered = false

    /// The server refused something and waits for more.
    static func refused(_ error: PostgresError) -> ExchangeFailure {
        ExchangeFailure(cause: error, endsConnection: error.code == .connectionLost)
    }

    static func broken(_ error: any Error) -> ExchangeFailure {
        ExchangeFailure(cause: error, endsConnection: true)
    }
}
