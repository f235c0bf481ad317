import AppStore

/// One check that a JWS has to pass; the cases stand in the order in which they are made.
///
/// A step is the smallest thing of which can be said that it was in order when a later one is not: several ``VerificationReason``s that
/// are found side by side belong to one step.
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

    /// What is so when the step is passed.
    package var summary: String {
        switch self {
        case .form: "three parts, payload and signature in canonical base64url"
        case .header: "a JSON header with alg and x5c in canonical base64, without crit, b64 and zip"
        case .algorithm: "alg is ES256"
        case .certificates: "x5c is three certificates in DER with nothing behind them"
        case .signedDate: "the payload is a JSON object with the date of its signature"
        case .chain: "leaf and intermediate, an authority, lead to a configured root, valid at that date"
        case .intermediate: "the intermediate is Apple's for this purpose (1.2.840.113635.100.6.2.1)"
        case .leaf: "the leaf is no authority, may sign with its P-256 key, for the App Store (1.2.840.113635.100.6.11.1)"
        case .signature: "the leaf's key signed exactly these bytes"
        case .kind: "the kind of payload that belongs here, its known members of the right types"
        case .agreement: "environment and bundle are those of the parts around it"
        case .environment: "an environment that is configured and that the root may vouch for"
        case .app: "an app that is configured"
        case .clock: "not signed in the future"
        case .contract: "transaction and renewal info are about the same contract"
        }
    }

    /// Why the step can fail.
    package var reasons: [VerificationReason] {
        VerificationReason.allCases.filter { $0.step == self }
    }

    /// The steps that a payload of this kind has to pass, in order.
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
