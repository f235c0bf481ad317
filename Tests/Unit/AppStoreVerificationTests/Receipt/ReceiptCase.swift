import AppStore
import StoreSimulator
import Testing

@testable import AppStoreVerification

/// A receipt that is invalid for one reason, and the policy to verify it with.
struct ReceiptCase: Sendable, CustomTestStringConvertible {
    struct Attempt {
        var input: [UInt8]
        var policy: VerificationPolicy
    }

    let reason: VerificationReason
    var what = ""
    let attempt: @Sendable () throws -> Attempt

    var testDescription: String { what.isEmpty ? reason.rawValue : "\(reason): \(what)" }

    /// Bytes that are not a receipt.
    static func input(_ reason: VerificationReason, _ what: String, _ input: @escaping @Sendable () throws -> [UInt8]) -> Self {
        Self(reason: reason, what: what) { Attempt(input: try input(), policy: try TestReceipts.policy()) }
    }

    /// A genuine receipt in a changed envelope.
    static func envelope(
        _ reason: VerificationReason,
        _ what: String = "",
        change: @escaping @Sendable (inout ReceiptEnvelope) throws -> Void
    ) -> Self {
        Self(reason: reason, what: what) {
            var envelope = try TestReceipts.envelope()
            try change(&envelope)
            return Attempt(input: envelope.encoded(), policy: try TestReceipts.policy())
        }
    }

    /// A genuine receipt below certificates with changed options.
    static func chain(_ reason: VerificationReason, _ what: String = "", change: @escaping @Sendable (inout AuthorityOptions) -> Void)
        -> Self
    {
        Self(reason: reason, what: what) {
            var options = AuthorityOptions(around: TestReceipts.now)
            change(&options)
            let authority = try TestReceipts.authority.get().reissued(options)
            return Attempt(
                input: try ReceiptSigner(authority: authority).sign(TestReceipts.receipt),
                policy: try policy(trusting: authority)
            )
        }
    }

    /// A genuinely signed receipt with other content.
    static func content(
        _ reason: VerificationReason,
        _ what: String = "",
        trustedFor environments: Set<AppStoreEnvironment>? = nil,
        change: @escaping @Sendable (inout AppReceipt) -> Void
    ) -> Self {
        Self(reason: reason, what: what) {
            var receipt = TestReceipts.receipt
            change(&receipt)
            return Attempt(input: try TestReceipts.sign(receipt), policy: try TestReceipts.policy(trustedFor: environments))
        }
    }

    static func policy(trusting authority: ReceiptAuthority) throws -> VerificationPolicy {
        var policy = try TestReceipts.policy()
        policy.roots = [try TrustedRoot(authority.root, environments: nil)]
        return policy
    }

    /// A genuine receipt below changed certificates of the tests' own authority.
    static func leaf(
        _ reason: VerificationReason,
        _ what: String = "",
        change: @escaping @Sendable (inout ReceiptCertificates) throws -> Void
    ) -> Self {
        Self(reason: reason, what: what) {
            var certificates = try ReceiptCertificates()
            try change(&certificates)
            let (envelope, root) = try certificates.envelope()
            var policy = try TestReceipts.policy()
            policy.roots = [try TrustedRoot(root, environments: nil)]
            return Attempt(input: envelope.encoded(), policy: policy)
        }
    }
}
