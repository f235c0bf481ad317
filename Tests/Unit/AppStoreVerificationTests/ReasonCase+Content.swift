import AppStore
import OpenSSL
import StrictJSON

@testable import AppStoreVerification

extension ReasonCase {
    /// Invalid content in a genuinely signed payload.
    static let content: [ReasonCase] = [
        .content(.wrongKind, "an unknown kind") { _ in ["signedDate": .timestamp(TestStore.now)] },
        .content(.wrongKind, "a standalone transaction") { _ in Payloads.transaction },
        .content(.wrongKind, "both a notification and a transaction") { _ in Payloads.notification().with("transactionId", "1") },
        .content(.wrongKind, "a renewal info as a transaction", at: "data.signedTransactionInfo") {
            try Payloads.full($0, transaction: Payloads.renewalInfo)
        },
        .content(.wrongKind, "a transaction as a renewal info", at: "data.signedRenewalInfo") {
            try Payloads.full($0, renewalInfo: Payloads.transaction)
        },
        .content(.unreadableMember, "the part with app and environment") { _ in Payloads.notification().with("data", "text") },
        .content(.unreadableMember, "the environment") { _ in Payloads.notification("data", Payloads.data.with("environment", 1)) },
        .content(.unreadableMember, "the app") { _ in Payloads.notification("data", Payloads.data.with("bundleId", true)) },
        .content(.unreadableMember, "the app's number") { _ in Payloads.notification("data", Payloads.data.with("appAppleId", "x")) },
        .content(.unreadableMember, "the environment of one part of two") { _ in
            Payloads.notification().with("summary", .object(Payloads.data.with("environment", [])))
        },
        .content(.unreadableMember, "the signing date") { _ in Payloads.notification().with("signedDate", "2025-01-01") },
        .content(.environmentMissing) { _ in Payloads.notification("data", Payloads.data.with("environment", nil)) },
        .content(.environmentMissing, "none of the four members") { _ in Payloads.notification("other") },
        .content(.environmentNotSupported, "Xcode") { _ in Payloads.notification("data", Payloads.data.with("environment", "Xcode")) },
        .content(.environmentNotSupported, "LocalTesting") { _ in
            Payloads.notification("data", Payloads.data.with("environment", "LocalTesting"))
        },
        .content(.environmentDisagreement, "transaction", at: "data.signedTransactionInfo") {
            try Payloads.full($0, transaction: Payloads.transaction.with("environment", "Sandbox"))
        },
        .content(.environmentDisagreement, "renewal info", at: "data.signedRenewalInfo") {
            try Payloads.full($0, renewalInfo: Payloads.renewalInfo.with("environment", "Sandbox"))
        },
        .content(.environmentDisagreement, "data and summary") { _ in
            Payloads.notification().with("summary", .object(Payloads.data.with("environment", "Sandbox")))
        },
        .content(.environmentNotTrustedByRoot, trustedFor: [.sandbox]) { _ in Payloads.notification() },
        .content(.wrongEnvironment) { _ in Payloads.notification("data", Payloads.data.with("environment", "Moon")) },
        .content(.bundleMissing) { _ in Payloads.notification("data", Payloads.data.with("bundleId", nil)) },
        .content(.bundleDisagreement, at: "data.signedTransactionInfo") {
            try Payloads.full($0, transaction: Payloads.transaction.with("bundleId", "com.example.other"))
        },
        .content(.bundleDisagreement, "app transaction", at: "appData.signedAppTransactionInfo") {
            let appTransaction = try $0.sign(Payloads.appTransaction.with("bundleId", "com.example.other"))
            return Payloads.notification("appData", Payloads.data.with("signedAppTransactionInfo", .string(appTransaction)))
        },
        .content(.wrongBundle) { _ in Payloads.notification("data", Payloads.data.with("bundleId", "com.example.other")) },
        .content(.wrongBundle, "another case") { _ in Payloads.notification("summary", Payloads.data.with("bundleId", "COM.example.app")) },
        .content(.wrongAppAppleID) { _ in Payloads.notification("data", Payloads.data.with("appAppleId", 99)) },
        .content(.wrongAppAppleID, "absent in Production") { _ in Payloads.notification("data", Payloads.data.with("appAppleId", nil)) },
        .content(.wrongAppAppleID, "app transaction", at: "appData.signedAppTransactionInfo") {
            let appTransaction = try $0.sign(Payloads.appTransaction.with("appAppleId", 99))
            return Payloads.notification("appData", Payloads.data.with("signedAppTransactionInfo", .string(appTransaction)))
        },
        .content(.originalTransactionIDDisagreement, at: "data.signedRenewalInfo") {
            try Payloads.full($0, renewalInfo: Payloads.renewalInfo.with("originalTransactionId", "1001"))
        },
        .content(.signedInTheFuture) { _ in
            Payloads.notification().with("signedDate", .integer(TestStore.now.millisecondsSince1970 + 300_001))
        },
        .content(.signedInTheFuture, "nested", at: "data.signedTransactionInfo") {
            try Payloads.full(
                $0,
                transaction: Payloads.transaction.with("signedDate", .integer(TestStore.now.millisecondsSince1970 + 300_001))
            )
        },
        ReasonCase(reason: .certificateRevoked, what: "the leaf, before the signing date") { store in
            try revoked(Payloads.notification(), by: store) { $0.add(store.leaf.sha256Fingerprint, refusing: .from(TestStore.now)) }
        },
        ReasonCase(reason: .certificateRevoked, what: "the intermediate, whose key was stolen") { store in
            try revoked(Payloads.notification(), by: store) { $0.add(store.intermediate.sha256Fingerprint, refusing: .all) }
        },
        ReasonCase(reason: .certificateRevoked, what: "nested", location: "data.signedTransactionInfo") { store in
            let later = Payloads.transaction.with("signedDate", .integer(TestStore.now.millisecondsSince1970 + 1))
            return try revoked(Payloads.full(store, transaction: later), by: store) {
                $0.add(store.leaf.sha256Fingerprint, refusing: .from(TestStore.now.advanced(by: .milliseconds(1))))
            }
        },
        .content(.signatureInvalid, "nested", at: "data.signedTransactionInfo") {
            let other = try $0.sign(Payloads.renewalInfo)
            let forged = try $0.sign(Payloads.transaction).replacing(part: 2) { _ in other.part(2) }
            return Payloads.notification("data", Payloads.data.with("signedTransactionInfo", .string(forged)))
        },
        .content(.certificateNotYetValid, "nested, at its own signedDate", at: "data.signedTransactionInfo") {
            try Payloads.full($0, transaction: Payloads.transaction.with("signedDate", 0))
        },
    ]

    /// A notification, verified while certificates are known to be revoked.
    private static func revoked(_ payload: JSONObject, by store: TestStore, _ revoke: (inout Revocations) -> Void) throws -> Attempt {
        var policy = try store.policy()
        revoke(&policy.revocations)
        return Attempt(jws: try store.sign(payload), policy: policy)
    }
}
