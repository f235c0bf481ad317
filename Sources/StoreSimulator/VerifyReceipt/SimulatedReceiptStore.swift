package import AppStore

/// What a make-believe verifyReceipt knows, and what it says: it is told the bytes of a question, and does no I/O.
package struct SimulatedReceiptStore: Sendable {
    private struct Entry {
        var answer: VerifyReceiptAnswer
        var script: VerifyReceiptScript
    }

    private var entries: [String: Entry] = [:]
    /// The shared secrets by bundle identifier. An app without any is answered without asking for one, and without the newest transactions.
    package var secrets: [String: Set<String>]

    package init(secrets: [String: Set<String>] = [:]) {
        self.secrets = secrets
    }

    /// Keeps what there is to say about a receipt, which is known by its base64 as it is asked with.
    ///
    /// The answer's request date is when it is asked for; called again, the customer's newest transactions take the place of the old ones.
    package mutating func hold(_ answer: VerifyReceiptAnswer, for receiptData: String, script: VerifyReceiptScript = VerifyReceiptScript())
    {
        entries[receiptData] = Entry(answer: answer, script: script)
    }

    /// Answers a question.
    ///
    /// - Parameter isPosted: whether the request was a POST.
    package mutating func reply(to question: VerifyReceiptQuestion, isPosted: Bool, at now: Timestamp) -> VerifyReceiptReply {
        guard isPosted else { return Self.refusal(.notPosted) }
        guard let receiptData = question.receiptData, Self.isBase64(receiptData) else { return Self.refusal(.malformedReceiptData) }
        guard var entry = entries[receiptData] else { return Self.refusal(.notAuthenticated) }
        let step = entry.script.next()
        entries[receiptData] = entry
        var reply = reply(step.content, question, entry.answer, at: now)
        reply.manner = step.manner
        return reply
    }

    private func reply(
        _ content: VerifyReceiptScript.Step.Content,
        _ question: VerifyReceiptQuestion,
        _ answer: VerifyReceiptAnswer,
        at now: Timestamp
    ) -> VerifyReceiptReply {
        switch content {
        case .answer: return Self.reply(answer, question, secrets[answer.app.bundleID], at: now)
        case .otherHost: return Self.refusal(question.host.statusForOther)
        case .status(let status, let isRetryable): return Self.refusal(status, isRetryable: isRetryable)
        case .page(let status, let contentType, let body, let headers):
            var reply = VerifyReceiptReply(status: status, contentType: contentType, body: body)
            reply.headers += headers
            return reply
        case .spaces(let count):
            var reply = VerifyReceiptReply(["status": 0])
            reply.body += [UInt8](repeating: UInt8(ascii: " "), count: max(0, count - reply.body.count))
            return reply
        }
    }

    /// The host is looked at before the secret, which the other host may know as well.
    private static func reply(
        _ answer: VerifyReceiptAnswer,
        _ question: VerifyReceiptQuestion,
        _ secrets: Set<String>?,
        at now: Timestamp
    ) -> VerifyReceiptReply {
        guard answer.app.receiptHost == question.host else { return refusal(question.host.statusForOther) }
        var answer = answer
        answer.requestDate = now
        if let secrets {
            guard let password = question.password, secrets.contains(password) else { return refusal(.wrongSharedSecret) }
        } else {
            (answer.transactions, answer.renewals, answer.latestReceipt) = (nil, [], nil)
        }
        return VerifyReceiptReply(answer.json)
    }

    private static func refusal(_ status: VerifyReceiptStatus, isRetryable: Bool? = nil) -> VerifyReceiptReply {
        VerifyReceiptReply(VerifyReceiptAnswer.refusal(status, isRetryable: isRetryable))
    }

    private static func isBase64(_ text: String) -> Bool {
        !text.isEmpty && Base64.decodeLoosely(Array(text.utf8)[...]) != nil
    }
}
