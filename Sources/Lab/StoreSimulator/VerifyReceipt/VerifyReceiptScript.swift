package import AppStore

/// The replies of verifyReceipt about one receipt, one step for each request to either host.
package struct VerifyReceiptScript: Hashable, Sendable {
    /// The reply to one request.
    package struct Step: Hashable, Sendable {
        enum Content: Hashable, Sendable {
            case answer
            case otherHost
            case status(VerifyReceiptStatus, isRetryable: Bool?)
            case page(status: Int, contentType: String, body: String, headers: [SimulatedReply.Header])
            case spaces(Int)
        }

        let content: Content
        private(set) var manner = SimulatedReply.Manner.atOnce

        /// The same content, sent in another manner.
        package func by(_ manner: SimulatedReply.Manner) -> Step {
            var copy = self
            copy.manner = manner
            return copy
        }

        /// The stored answer, as without a script.
        package static let answer = Step(content: .answer)
        /// The status that refers to the other host.
        package static let otherHost = Step(content: .otherHost)
        /// A status without further content.
        package static func status(_ status: VerifyReceiptStatus, isRetryable: Bool? = nil) -> Step {
            Step(content: .status(status, isRetryable: isRetryable))
        }
        /// An HTML page, as from a proxy or during maintenance.
        package static func page(status: Int = 200) -> Step {
            Step(content: .page(status: status, contentType: "text/html", body: "<html><body>Busy.</body></html>", headers: []))
        }
        /// A redirect.
        package static func redirect(to address: String) -> Step {
            let header = SimulatedReply.Header(name: "location", value: address)
            return Step(content: .page(status: 302, contentType: "text/html", body: "<html></html>", headers: [header]))
        }
        /// A status with Retry-After.
        package static func busy(status: Int = 429, retryAfter: String) -> Step {
            let header = SimulatedReply.Header(name: "retry-after", value: retryAfter)
            return Step(content: .page(status: status, contentType: "text/plain", body: "later", headers: [header]))
        }
        /// Status 0 in JSON, followed by spaces up to `count` bytes.
        package static func large(_ count: Int) -> Step { Step(content: .spaces(count)) }
    }

    private var steps: [Step]
    private let last: Step

    /// - Parameters:
    ///   - steps: one for each request.
    ///   - last: the step of all later requests.
    package init(_ steps: [Step] = [], last: Step = .answer) {
        self.steps = steps
        self.last = last
    }

    /// Returns the step for the next request.
    package mutating func next() -> Step {
        steps.isEmpty ? last : steps.removeFirst()
    }
}
