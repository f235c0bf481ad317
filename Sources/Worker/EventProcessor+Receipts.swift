import AppStore
import AppStoreVerification
import InboxQueue
import Interpretation
import Ledger
import StrictJSON

/// The legacy App Store: notifications V1, receipts that clients post, and what Apple answers about them.
extension EventProcessor {
    func prepareNotificationV1(_ event: ClaimedEvent) -> Prepared {
        let notification: AuthenticNotificationV1
        let labels: OutcomeLabels
        do throws(UnreadableBody) {
            let (json, body) = try Self.read(event.body) { json throws(MalformedPayload) in try ResponseBodyV1(json) }
            let enclosed = enclosedReceipt(in: body, receivedAt: event.verificationTime)
            let digest = ContentDigest.ofNotificationV1(json)
            do throws(AuthenticNotificationV1.Refusal) {
                notification = try AuthenticNotificationV1(
                    body,
                    receipt: enclosed,
                    digest: digest,
                    // Not the time of this attempt: the facts must not depend on when the event is processed.
                    receivedAt: event.arrivalTime,
                    policy: receipts.policy
                )
                labels = OutcomeLabels(notification)
            } catch {
                return .rejected(error.rawValue, OutcomeLabels(body))
            }
        } catch {
            return .rejected(error.rawValue)
        }
        switch notification.receipt {
        case .refused(let rejection) where rejection.isRetryable: return .settled(settlement(of: rejection, labels))
        case .verified(let receipt) where receipt.containsNUL: return .rejected(UnreadableBody.nul.rawValue, labels)
        default: break
        }
        let facts = NotificationV1Interpreter.facts(of: notification, eventID: event.eventID, settings: legacy)
        return .facts(facts, labels.naming(facts))
    }

    private func enclosedReceipt(in body: ResponseBodyV1, receivedAt: Timestamp) -> EnclosedReceipt {
        guard let data = body.receiptData else { return .absent }
        return switch receipts.verify(data, receivedAt: receivedAt) {
        case .valid(let receipt): .verified(receipt)
        case .invalid(let rejection): .refused(rejection)
        }
    }

    func prepareClientReceipt(_ event: ClaimedEvent) -> Prepared {
        let post: ClientReceipt
        do {
            post = try ClientReceipt(body: event.body)
        } catch {
            return .rejected(error.rawValue)
        }
        switch receipts.verify(post.receiptData, receivedAt: event.verificationTime) {
        case .invalid(let rejection):
            return .settled(settlement(of: rejection, OutcomeLabels(rejection)))
        case .valid(let receipt):
            let labels = OutcomeLabels(receipt)
            guard !receipt.containsNUL else { return .rejected(UnreadableBody.nul.rawValue, labels) }
            if let reason = ClientReceiptInterpreter.refusal(of: receipt, in: post) { return .rejected(reason.rawValue, labels) }
            let facts = ClientReceiptInterpreter.facts(
                of: receipt,
                in: post,
                eventID: event.eventID,
                receivedAt: event.arrivalTime,
                settings: legacy
            )
            return .facts(facts, labels.naming(facts))
        }
    }

    func prepareReceiptAnswer(_ event: ClaimedEvent) -> Prepared {
        let answer: ReceiptAnswer
        do throws(UnreadableBody) {
            let (_, response) = try Self.read(event.body) { json throws(MalformedPayload) in try VerifyReceiptResponse(json) }
            do throws(ReceiptAnswer.Refusal) {
                answer = try ReceiptAnswer(response, receivedAt: event.arrivalTime, policy: receipts.policy)
            } catch {
                return .unusableAnswer(event, error.rawValue, OutcomeLabels(response))
            }
        } catch {
            return .unusableAnswer(event, error.rawValue)
        }
        var latest: VerifiedReceipt?
        if let data = answer.response.latestReceipt {
            switch receipts.verify(data, receivedAt: event.verificationTime) {
            case .invalid(let rejection) where rejection.isRetryable:
                return .settled(settlement(of: rejection, OutcomeLabels(answer.response)))
            case .valid(let receipt) where !receipt.containsNUL: latest = receipt
            // The rest of the answer has the same charges.
            case .invalid, .valid: break
            }
        }
        let facts = VerifyReceiptInterpreter.facts(of: answer, latest: latest, eventID: event.eventID)
        return .facts(facts, OutcomeLabels(answer.response).naming(facts))
    }

    func prepareUnansweredReceipt(_ event: ClaimedEvent) -> Prepared {
        let unanswered: UnansweredReceipt
        do {
            unanswered = try UnansweredReceipt(body: event.body)
        } catch {
            return .rejected(error.rawValue)
        }
        switch receipts.verify(unanswered.receiptData, receivedAt: event.verificationTime) {
        case .invalid(let rejection):
            return .settled(settlement(of: rejection, OutcomeLabels(rejection)))
        case .valid(let receipt):
            let labels = OutcomeLabels(receipt)
            guard !receipt.containsNUL else { return .rejected(UnreadableBody.nul.rawValue, labels) }
            let facts = UnansweredReceipt.facts(of: receipt, eventID: event.eventID)
            return .facts(facts, labels.naming(facts))
        }
    }

    private func settlement(of rejection: ReceiptRejection, _ labels: OutcomeLabels) -> Settlement {
        let reason = rejection.reason.rawValue
        if rejection.isRetryable { return .retry(reason: reason, error: "\(reason) in the receipt", labels: labels) }
        return .outcome(Outcome(.rejected, reason: reason, labels: labels))
    }

    /// Why a body cannot be read; the raw value is the code that is stored and shown.
    private enum UnreadableBody: String, Error {
        /// Not a JSON object.
        case notJSON = "not_json"
        /// It contains U+0000, which PostgreSQL cannot store.
        case nul = "nul_in_payload"
        /// A required member has another type than Apple documents.
        case malformed = "malformed_payload"
    }

    private static func read<Value>(
        _ body: [UInt8],
        _ decode: (JSONObject) throws(MalformedPayload) -> Value
    ) throws(UnreadableBody) -> (JSONObject, Value) {
        let json: JSONObject
        do {
            json = try JSONParser().parseObject(body)
        } catch {
            throw .notJSON
        }
        guard !JSONParser.containsNUL(in: body) else { throw .nul }
        do {
            return (json, try decode(json))
        } catch {
            throw .malformed
        }
    }
}

extension EventProcessor.Prepared {
    fileprivate static func unusableAnswer(_ event: ClaimedEvent, _ reason: String, _ labels: OutcomeLabels = OutcomeLabels()) -> Self {
        .unusableAnswer(eventID: event.eventID, Outcome(.rejected, reason: reason, labels: labels))
    }
}
