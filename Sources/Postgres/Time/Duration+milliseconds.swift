extension Duration {
    /// Whole milliseconds, rounded towards zero: how timeouts and delays are sent to the server.
    package var milliseconds: Int64 { components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000 }
}
