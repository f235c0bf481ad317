/// One attempt to deliver an entry.
struct DeliveryRequest: Sendable {
    let url: EndpointURL
    let headers: [(name: String, value: String)]
    let body: [UInt8]
    /// The timeout of the whole attempt, from resolving the name to the end of the answer.
    let timeout: Duration
}

extension DeliveryRequest: CustomStringConvertible, CustomReflectable {
    /// Shows neither fields nor body: they hold secrets.
    var description: String { "a delivery to \(url)" }
    var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}
