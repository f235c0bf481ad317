/// The outcome of an exchange that failed, and whether the connection can still be used.
struct ExchangeFailure: Error {
    let cause: any Error
    let endsConnection: Bool

    /// The server refused something and waits for more.
    static func refused(_ error: PostgresError) -> ExchangeFailure {
        ExchangeFailure(cause: error, endsConnection: error.code == .connectionLost)
    }

    static func broken(_ error: any Error) -> ExchangeFailure {
        ExchangeFailure(cause: error, endsConnection: true)
    }
}
