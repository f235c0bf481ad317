import FoundationEssentials

/// An endpoint that this process serves until the lease ends.
struct EndpointLease: Sendable {
    let name: String
    let endpointID: UUID
    let epoch: Int64
    let settings: EndpointSettings
    /// Everything up to it is delivered, unwanted, or an open delivery.
    let position: Int64
    /// Failures in a row.
    let failures: Int
    /// Since when the endpoint has had failures and no success.
    let failingFor: Duration?
    /// When the next probe is due; nil while the breaker is closed.
    let openFor: Duration?
    let probes: Int
}

/// What an operator may change while an endpoint is served.
struct EndpointSettings: Hashable, Sendable {
    let url: String
    let keepsOrder: Bool
    /// How many entries are in flight at most.
    let window: Int
    let perSecond: Int?
    let timeout: Duration
    let secretGeneration: Int
    /// Whether the secret of the generation before signs as well.
    let hasPreviousSecret: Bool
}
