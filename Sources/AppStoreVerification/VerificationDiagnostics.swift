internal import AppStore

/// Records the checks of a verification at the moment they are made.
///
/// Verifiers take one or nil. Without one they record nothing, and may use results of earlier verifications, such as validated chains.
package final class VerificationDiagnostics {
    /// The checks of one signed part, or of the request that came with it.
    package struct Part: Hashable, Sendable {
        /// As in ``Rejection/location``.
        package let location: String
        /// In the order in which they were made.
        package fileprivate(set) var checks: [Check] = []
        /// The checks that this part must pass.
        fileprivate var required: [VerificationStep]

        /// The checks that were not made, because an earlier one failed.
        package var notReached: [VerificationStep] { required.filter { step in !checks.contains { $0.step == step } } }
    }

    /// One check that was made.
    package struct Check: Hashable, Sendable {
        package let step: VerificationStep
        /// Why it failed; nil when it passed.
        package let failure: Failure?
    }

    /// Why a check failed.
    package struct Failure: Hashable, Sendable {
        package let reason: VerificationReason
        package let detail: String?
    }

    /// In the order of verification; the parts that were not reached are left out.
    package private(set) var parts: [Part] = []

    package init() {}

    /// Begins a part. The following checks belong to it.
    package func begin(_ location: String, requiring steps: [VerificationStep]) {
        parts.append(Part(location: location, required: steps))
    }

    /// Replaces the checks that the current part must pass, when its kind is found.
    func require(_ steps: [VerificationStep]) {
        parts[parts.count - 1].required = steps
    }

    /// Records a check of the current part.
    package func record(_ step: VerificationStep, _ failure: VerificationReason?, detail: String? = nil) {
        let failure = failure.map { Failure(reason: $0, detail: detail) }
        parts[parts.count - 1].checks.append(Check(step: step, failure: failure))
    }

    /// A record of another attempt at the current part.
    func attempt() -> VerificationDiagnostics {
        let attempt = VerificationDiagnostics()
        attempt.begin("", requiring: [])
        return attempt
    }

    /// Adds the checks of the attempt that decided.
    func add(_ attempt: VerificationDiagnostics) {
        parts[parts.count - 1].checks += attempt.parts[0].checks
    }
}

extension VerificationDiagnostics? {
    /// Makes a check and records its result. Allocates nothing when there is no record.
    func check<Value>(_ step: VerificationStep, _ check: () throws(Flaw) -> Value) throws(Flaw) -> Value {
        do {
            let value = try check()
            self?.record(step, nil)
            return value
        } catch {
            self?.record(step, error.reason, detail: error.detail)
            throw error
        }
    }
}

/// One check of a JWS or receipt; the cases are in the order in which a JWS is checked.
package enum VerificationStep: String, CaseIterable, Sendable {
    case form
    case header
    case algorithm
    case certificates
    case signedDate = "signed_date"
    case chain
    case intermediate
    case leaf
    case signature
    case kind
    case agreement
    case environment
    case app
    case clock
    case revocation
    case contract

    /// What a passed check establishes.
    package var summary: String {
        switch self {
        case .form: "three parts, payload and signature in canonical base64url; of a receipt, PKCS #7 with content and one signer"
        case .header: "a JSON header with alg and x5c in canonical base64, without crit, b64 and zip"
        case .algorithm: "alg is ES256"
        case .certificates:
            "x5c is three certificates in DER without trailing bytes; a receipt has the certificate of its signer; keys are of a supported kind"
        case .signedDate: "the content is readable and has a signing date"
        case .chain: "leaf and intermediate CA form a chain to a configured root, valid at the signing date"
        case .intermediate: "the intermediate has Apple's marker (1.2.840.113635.100.6.2.1)"
        case .leaf:
            "the leaf is not a CA, has a signing key (P-256, of a receipt RSA) and the App Store's marker (1.2.840.113635.100.6.11.1)"
        case .signature: "the leaf's key signed exactly these bytes"
        case .kind: "the expected kind of content"
        case .agreement: "environment and bundle agree with the enclosing parts"
        case .environment: "the environment is configured, and the root is trusted for it; of a request, it is the named one"
        case .app: "the app is configured; of a request, the API key is for it"
        case .clock: "not signed in the future"
        case .revocation: "no revocation of the chain's certificates is known"
        case .contract: "transaction and renewal info belong to the same contract"
        }
    }
}

extension [VerificationStep] {
    /// The checks of an app receipt.
    static let receipt: Self = [
        .form, .signedDate, .certificates, .chain, .intermediate, .leaf, .signature, .kind, .environment, .app, .clock,
    ]

    /// The checks of a JWS; of one whose kind is not known yet, those of every kind.
    ///
    /// - Parameter isNested: whether the JWS is part of a notification.
    static func jws(_ kind: SignedPayloadKind?, isNested: Bool = false) -> Self {
        VerificationStep.allCases.filter { step in
            switch step {
            case .agreement: isNested || kind == .notification
            // A renewal info names no app.
            case .app: kind != nil && kind != .renewalInfo
            case .contract: isNested && kind == .renewalInfo
            default: true
            }
        }
    }
}
