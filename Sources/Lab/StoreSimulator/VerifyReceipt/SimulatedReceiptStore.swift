package import AppStore
import StrictJSON

/// The receipts and answers of a simulated verifyReceipt, without I/O.
package struct SimulatedReceiptStore: Sendable {
    private struct Entry {
        var answer: VerifyReceiptAnswer
        var script: VerifyReceiptScript
    }

    private var entries: [String: Entry] = [:]
    /// The shared secrets by bundle identifier. For an app without secrets, requests need none, and answers lack the newest transactions.
    package var secrets: [String: Set<String>]

    package init(secrets: [String: Set<String>] = [:]) {
        self.secrets = secrets
    }

    /// Stores the answer for a receipt, which is identified by its exact base64. A second call replaces the answer.
    ///
    /// The answer's request date is the time of each request.
    package mutating func hold(_ answer: VerifyReceiptAnswer, for receiptData: String, script: VerifyReceiptScript = VerifyReceiptScript())
    {
        entries[receiptData] = Entry(answer: answer, script: script)
    }

    /// Answers a request.
    ///
    /// - Parameter isPosted: whether the request was a POST.
    package mutating func reply(to request: VerifyReceiptRequest, isPosted: Bool, at now: Timestamp) -> SimulatedReply {
        guard isPosted else { return Self.refusal(.notPosted) }
        guard let receiptData = request.receiptData, Self.isBase64(receiptData) else { return Self.refusal(.malformedReceiptData) }
        guard var entry = entries[receiptData] else { return Self.refusal(.notAuthenticated) }
        let step = entry.script.next()
        entries[receiptData] = entry
        var reply = reply(step.content, request, entry.answer, at: now)
        reply.manner = step.manner
        return reply
    }

    private func reply(
        _ content: VerifyReceiptScript.Step.Content,
        _ request: VerifyReceiptRequest,
        _ answer: VerifyReceiptAnswer,
        at now: Timestamp
    ) -> SimulatedReply {
        switch content {
        case .answer: return Self.reply(answer, request, secrets[answer.app.bundleID], at: now)
        case .otherHost: return Self.refusal(request.host.statusForOther)
        case .status(let status, let isRetryable): return Self.refusal(status, isRetryable: isRetryable)
        case .page(let status, let contentType, let body, let headers):
            var reply = SimulatedReply(status: status, contentType: contentType, body: body)
            reply.headers += headers
            return reply
        case .spaces(let count):
            var reply = SimulatedReply(["status": 0])
            reply.body += [UInt8](repeating: UInt8(ascii: " "), count: max(0, count - reply.body.count))
            return reply
        }
    }

    /// Checks the host before the secret.
    private static func reply(
        _ answer: VerifyReceiptAnswer,
        _ request: VerifyReceiptRequest,
        _ secrets: Set<String>?,
        at now: Timestamp
    ) -> SimulatedReply {
        guard answer.app.receiptHost == request.host else { return refusal(request.host.statusForOther) }
        var answer = answer
        answer.requestDate = now
        if let secrets {
            guard let password = request.password, secrets.contains(password) else { return refusal(.wrongSharedSecret) }
        }
        // Apple adds the newest transactions only to a receipt with an auto-renewable subscription.
        if secrets == nil || !answer.receipt.hasSubscription {
            (answer.transactions, answer.renewals, answer.latestReceipt) = (nil, [], nil)
        }
        return SimulatedReply(answer.json)
    }

    private static func refusal(_ status: VerifyReceiptStatus, isRetryable: Bool? = nil) -> SimulatedReply {
        SimulatedReply(VerifyReceiptAnswer.refusal(status, isRetryable: isRetryable))
    }

    private static func isBase64(_ text: String) -> Bool {
        !text.isEmpty && Base64.decodeLoosely(Array(text.utf8)[...]) != nil
    }
}

extension AppReceipt {
    fileprivate var hasSubscription: Bool { purchases.contains { $0.productType == .autoRenewableSubscription } }
}
