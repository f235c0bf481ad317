import AppStore

/// One check of a JWS; the cases are in execution order.
///
/// When a step fails, all earlier steps have passed. ``VerificationReason``s without a fixed order among them belong to the same step.
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
    case contract

    /// What a passed step establishes.
    package var summary: String {
        switch self {
        case .form: "three parts, payload and signature in canonical base64url"
        case .header: "a JSON header with alg and x5c in canonical base64, without crit, b64 and zip"
        case .algorithm: "alg is ES256"
        case .certificates: "x5c is three certificates in DER without trailing bytes"
        case .signedDate: "the payload is a JSON object with a signing date"
        case .chain: "leaf and intermediate CA form a chain to a configured root, valid at the signing date"
        case .intermediate: "the intermediate has Apple's marker (1.2.840.113635.100.6.2.1)"
        case .leaf: "the leaf is not a CA, has a P-256 signing key and the App Store's marker (1.2.840.113635.100.6.11.1)"
        case .signature: "the leaf's key signed exactly these bytes"
        case .kind: "the expected kind of payload, with known members of the right types"
        case .agreement: "environment and bundle agree with the enclosing parts"
        case .environment: "the environment is configured, and the root is trusted for it"
        case .app: "the app is configured"
        case .clock: "not signed in the future"
        case .contract: "transaction and renewal info belong to the same contract"
        }
    }

    /// The reasons for which the step can fail.
    package var reasons: [VerificationReason] {
        VerificationReason.allCases.filter { $0.step == self }
    }

    /// The steps for a payload of this kind, in order.
    ///
    /// - Parameter isNested: whether the JWS is part of a notification.
    static func checks(of kind: SignedPayloadKind, isNested: Bool) -> [VerificationStep] {
        allCases.filter { step in
            switch step {
            case .agreement: isNested || kind == .notification
            // A renewal info names no app.
            case .app: kind != .renewalInfo
            case .contract: isNested && kind == .renewalInfo
            default: true
            }
        }
    }
}

extension VerificationReason {
    /// The check that fails for this reason.
    package var step: VerificationStep {
        switch self {
        case .malformedParts, .payloadNotBase64URL, .signatureNotBase64URL: .form
        case .headerNotBase64URL, .headerNotJSON, .headerNotSupported, .algorithmMissing, .x5cMissing, .x5cNotBase64: .header
        case .algorithmNotES256: .algorithm
        case .x5cCount, .certificateMalformed, .certificateTrailingBytes: .certificates
        case .payloadNotJSON, .signedDateMissing: .signedDate
        case .untrustedRoot, .chainBroken, .certificateSignatureInvalid, .certificateExpired, .certificateNotYetValid, .pathTooLong,
            .unknownCriticalExtension, .certificateTooWeak, .certificateRefused, .intermediateNotCA, .intermediateKeyUsage:
            .chain
        case .intermediateMarkerMissing: .intermediate
        case .leafIsCA, .leafKeyUsage, .leafKeyNotP256, .leafMarkerMissing: .leaf
        case .signatureMalformed, .signatureInvalid: .signature
        case .wrongKind, .payloadMalformed: .kind
        case .environmentDisagreement, .bundleDisagreement: .agreement
        case .environmentMissing, .environmentNotSupported, .environmentNotTrustedByRoot, .wrongEnvironment: .environment
        case .bundleMissing, .wrongBundle, .wrongAppAppleID: .app
        case .signedInTheFuture: .clock
        case .originalTransactionIDDisagreement: .contract
        }
    }
}
