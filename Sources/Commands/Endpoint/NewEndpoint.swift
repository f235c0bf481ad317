/// What `endpoint create` asks for.
struct NewEndpoint: Sendable {
    let name: String
    let url: String
    let format: Endpoint.Format
    /// Nil for the usual ones.
    let types: [String]?
    /// Nil for any.
    let apps: [String]?
    /// Nil for both.
    let environments: [String]?
    let withWrongBundle: Bool
    let keepsOrder: Bool
    let maximumInFlight: Int32
    /// Nil for no limit.
    let maximumPerSecond: Int32?
    /// Seconds.
    let timeout: Int32
}
