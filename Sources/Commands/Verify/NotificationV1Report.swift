import AppStore
import AppStoreVerification
import Interpretation
import StrictJSON

/// Verifies a notification V1 without its shared secret: whether its receipt is genuine and belongs to the app that the body names.
struct NotificationV1Report {
    /// The value of `kind` for a notification V1.
    static let kind = "notification-v1"

    let report: VerifyReport

    init(_ body: NotificationV1Body, _ demands: VerifyDemands, receivedAt now: Timestamp, _ diagnostics: VerificationDiagnostics) {
        let json: JSONObject
        let notification: ResponseBodyV1
        do {
            json = try JSONParser().parseObject(body.bytes)
            notification = ResponseBodyV1(decoding: json)
        } catch {
            report = VerifyReport(invalid: "not_json", at: VerifyReport.bodyLocation, detail: "\(error)")
            return
        }
        guard let data = notification.receiptData else {
            report = VerifyReport(invalid: "receipt_missing", at: VerifyReport.bodyLocation)
            return
        }
        switch ReceiptVerifier(policy: demands.receiptPolicy).verify(data, receivedAt: now, diagnostics: diagnostics) {
        case .invalid(let rejection):
            report = VerifyReport(rejection, kind: rejection.receipt == nil ? nil : Self.kind)
        case .valid(let receipt):
            do throws(AuthenticNotificationV1.Refusal) {
                _ = try AuthenticNotificationV1(
                    notification,
                    receipt: .verified(receipt),
                    digest: ContentDigest.ofNotificationV1(json),
                    receivedAt: now,
                    policy: demands.receiptPolicy
                )
                report = VerifyReport(
                    valid: Self.kind,
                    payload: json.withoutReceipts,
                    receipt: ReceiptReport(receipt).json,
                    odd: notification.odd.map(\.kind)
                )
            } catch {
                report = VerifyReport(invalid: error.rawValue, at: VerifyReport.bodyLocation, kind: Self.kind)
            }
        }
    }
}

extension JSONObject {
    /// The object with the length of each base64 receipt and JWS in place of its text.
    var withoutReceipts: JSONObject {
        var object = self
        for member in members {
            switch (member.name, member.value) {
            case ("latest_receipt", .string(let receipt)), ("latest_expired_receipt", .string(let receipt)),
                ("receiptData", .string(let receipt)):
                object[member.name] = .string("(\(receipt.utf8.count) characters of a receipt)")
            case (_, .string(let text)) where text.isJWS: object[member.name] = .string("(\(text.utf8.count) characters of a JWS)")
            case (_, .object(let inner)): object[member.name] = .object(inner.withoutReceipts)
            default: break
            }
        }
        return object
    }
}
