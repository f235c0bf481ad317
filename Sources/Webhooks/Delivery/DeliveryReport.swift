/// What became of an entry.
struct DeliveryReport: Hashable, Sendable {
    enum Result: String, CaseIterable, Sendable {
        case delivered, failed, refused
        /// The endpoint has asked to wait.
        case later
        case probeFailed = "probe_failed"
        case givenUp = "given_up"
        /// An earlier entry of its subject holds it: no attempt was made.
        case held
    }

    let position: Int64
    let subject: String?
    let redeliveryID: Int64?
    let result: Result
    /// Failed attempts of the entry after this one.
    let attempts: Int
    /// When to try again; nil: at no time, or as it was.
    var wait: Duration?
    var status: Int?
    var duration: Duration = .zero
    var answerBytes = 0
    /// The beginning of the answer.
    var answer: String?
    var error: String?
}

/// What is settled in one statement.
struct DeliverySettlement: Sendable {
    /// The cursor of the endpoint.
    let position: Int64
    var reports: [DeliveryReport]
    let redeliveredThrough: (id: Int64, position: Int64)?
    let failures: Int
    let isFailing: Bool
    let openFor: Duration?
    let probes: Int
    let disableBecause: String?
}
