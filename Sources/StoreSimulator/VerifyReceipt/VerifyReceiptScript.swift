package import AppStore

/// What verifyReceipt is to do about one receipt, question by question, whichever host is asked.
package struct VerifyReceiptScript: Hashable, Sendable {
    /// What it does about one question.
    package struct Step: Hashable, Sendable {
        enum Content: Hashable, Sendable {
            case answer
            case otherHost
            case status(VerifyReceiptStatus, isRetryable: Bool?)
            case page(status: Int, contentType: String, body: String, headers: [VerifyReceiptReply.Header])
            case spaces(Int)
        }

        let content: Content
        private(set) var manner = VerifyReceiptReply.Manner.atOnce

        /// The same in another manner.
        package func by(_ manner: VerifyReceiptReply.Manner) -> Step {
            var copy = self
            copy.manner = manner
            return copy
        }

        /// What there is to say, as if there were no script.
        package static let answer = Step(content: .answer)
        /// That the receipt belongs to the other host, whichever this one is.
        package static let otherHost = Step(content: .otherHost)
        /// Nothing but a status.
        package static func status(_ status: VerifyReceiptStatus, isRetryable: Bool? = nil) -> Step {
            Step(content: .status(status, isRetryable: isRetryable))
        }
        /// A page for people, as a proxy or a maintenance notice would be.
        package static func page(status: Int = 200) -> Step {
            Step(content: .page(status: status, contentType: "text/html", body: "<html><body>Busy.</body></html>", headers: []))
        }
        /// Another address.
        package static func redirect(to address: String) -> Step {
            let header = VerifyReceiptReply.Header(name: "location", value: address)
            return Step(content: .page(status: 302, contentType: "text/html", body: "<html></html>", headers: [header]))
        }
        /// A status that says to come again, and when.
        package static func busy(status: Int = 429, retryAfter: String) -> Step {
            let header = VerifyReceiptReply.Header(name: "retry-after", value: retryAfter)
            return Step(content: .page(status: status, contentType: "text/plain", body: "later", headers: [header]))
        }
        /// So many bytes of JSON that says that all is well, but for spaces.
        package static func large(_ count: Int) -> Step { Step(content: .spaces(count)) }
    }

    private var steps: [Step]
    private let last: Step

    /// - Parameters:
    ///   - steps: each for one question.
    ///   - last: for all questions after those.
    package init(_ steps: [Step] = [], last: Step = .answer) {
        self.steps = steps
        self.last = last
    }

    /// What to do about the next question.
    package mutating func next() -> Step {
        steps.isEmpty ? last : steps.removeFirst()
    }
}
