package import AppStore
import OpenSSL
package import StoreSimulator
package import StrictJSON

/// Variants of the JSON that the original API sent over the years.
package struct LegacyLayout: OptionSet, Hashable, Sendable {
    package let rawValue: Int

    package init(rawValue: Int) {
        self.rawValue = rawValue
    }

    /// No `is_upgraded`.
    package static let withoutUpgrades = LegacyLayout(rawValue: 1)
    /// No `in_app_ownership_type`.
    package static let withoutOwnership = LegacyLayout(rawValue: 2)
    /// No `pending_renewal_info`: the body's own members describe the only contract.
    package static let renewalOutside = LegacyLayout(rawValue: 4)
    /// No `bid`: only the receipt names the app.
    package static let withoutBundle = LegacyLayout(rawValue: 8)

    /// Removes from each entry the members that this layout lacks.
    func entries(in object: JSONObject) -> JSONObject {
        guard case .array(let entries)? = object["latest_receipt_info"] else { return object }
        var object = object
        object["latest_receipt_info"] = .array(
            entries.map { entry in
                guard case .object(var entry) = entry else { return entry }
                if contains(.withoutUpgrades) { entry["is_upgraded"] = nil }
                if contains(.withoutOwnership) { entry["in_app_ownership_type"] = nil }
                return .object(entry)
            }
        )
        return object
    }
}

/// A notification V1.
package struct LegacyNotification: Sendable {
    package let type: NotificationTypeV1
    package let app: SimulatedApp
    package let receipt: LifeReceipt
    /// The customer's transactions in `latest_receipt_info`; they are not merged.
    package let transactions: [SimulatedTransaction]
    /// The customer's contracts, in the order of `pending_renewal_info`.
    package let renewals: [SimulatedRenewalInfo]
    /// The contract that the notification is about; the body's own members have its plan and status.
    package let renewal: SimulatedRenewalInfo?
    /// `auto_renew_status_change_date`, in whole seconds.
    package let changeDate: Timestamp?
    /// `original_transaction_id` of the body; most have none.
    package let namedID: String?
    package let layout: LegacyLayout
    /// The stored body, in its first variant.
    package let body: JSONObject
    /// Identifies the notification; equal for all variants of the body.
    package let digest: [UInt8]
    /// The serialization; see ``bytes``.
    package var variant = 0
    /// When this delivery was received.
    package var receivedAt = Timestamp(millisecondsSince1970: 0)

    /// - Parameters:
    ///   - answer: the answer about the receipt; its first renewal is the one that the notification is about.
    ///   - firstEntry: the index of the renewal that comes first in `pending_renewal_info`; the others follow in rotation.
    package init(
        _ type: NotificationTypeV1,
        _ answer: VerifyReceiptAnswer,
        receipt: LifeReceipt,
        changeDate: Timestamp? = nil,
        namedID: String? = nil,
        layout: LegacyLayout = [],
        firstEntry: Int = 0
    ) {
        self.type = type
        self.app = answer.app
        self.receipt = receipt
        self.transactions = answer.transactions ?? []
        renewals = Array(answer.renewals[firstEntry...] + answer.renewals[..<firstEntry])
        renewal = answer.renewals.first
        self.changeDate = changeDate.map(\.inWholeSeconds)
        self.namedID = namedID
        self.layout = layout
        var simulated = SimulatedNotificationV1(type: type, password: "", answer: answer)
        simulated.autoRenewStatusChangeDate = changeDate
        body = Self.laidOut(simulated.body, namedID, layout, firstEntry: firstEntry)
        digest = Digest.sha256(CanonicalJSON.text(ofNotificationV1: body))
    }

    /// The body's own members that correspond to those of an entry of `pending_renewal_info`.
    static let renewalMembers = [
        "auto_renew_product_id", "auto_renew_status", "is_in_billing_retry_period", "expiration_intent", "grace_period_expires_date",
        "grace_period_expires_date_ms", "price_consent_status",
    ]

    private static func laidOut(_ body: JSONObject, _ namedID: String?, _ layout: LegacyLayout, firstEntry: Int) -> JSONObject {
        var body = body
        if layout.contains(.withoutBundle) { body["bid"] = nil }
        if let namedID { body["original_transaction_id"] = .string(namedID) }
        guard case .object(let unified)? = body["unified_receipt"] else { return body }
        var inner = layout.entries(in: unified)
        if layout.contains(.renewalOutside) {
            if let entry = inner.renewalEntries.first {
                for name in renewalMembers { body[name] = entry[name] ?? body[name] }
            }
            inner["pending_renewal_info"] = nil
        } else if case .array(let entries)? = inner["pending_renewal_info"] {
            inner["pending_renewal_info"] = .array(Array(entries[firstEntry...] + entries[..<firstEntry]))
        }
        body["unified_receipt"] = .object(inner)
        return body
    }

    /// The renewals in the body, as entries of `pending_renewal_info`; its own members count as one.
    var renewalEntries: [JSONObject] {
        guard layout.contains(.renewalOutside) else {
            guard case .object(let unified)? = body["unified_receipt"] else { return [] }
            return unified.renewalEntries
        }
        return [JSONObject(Self.renewalMembers.compactMap { name in body[name].map { (name, $0) } })]
    }

    /// The body as stored, after redaction of the secret. A retry may be serialized differently and means the same.
    package var bytes: [UInt8] {
        var members = body.members
        if variant % 3 == 1 { members.reverse() }
        if variant % 2 == 1 { members.removeAll { $0.name == "password" } }
        let text = String(decoding: JSONSerializer.serialize(JSONObject(members.map { ($0.name, $0.value) })), as: UTF8.self)
        guard variant > 1 else { return Array(text.utf8) }
        return Array(text.split(separator: #""status":0"#, omittingEmptySubsequences: false).joined(separator: #""status": 0.00e1"#).utf8)
    }
}

extension JSONObject {
    /// The entries of `pending_renewal_info`.
    var renewalEntries: [JSONObject] {
        guard case .array(let entries)? = self["pending_renewal_info"] else { return [] }
        return entries.compactMap { entry in
            guard case .object(let object) = entry else { return nil }
            return object
        }
    }
}

extension Timestamp {
    /// This instant without its milliseconds.
    var inWholeSeconds: Timestamp { Timestamp(millisecondsSince1970: millisecondsSince1970 / 1000 * 1000) }
}
