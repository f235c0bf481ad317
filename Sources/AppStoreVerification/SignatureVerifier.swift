internal import AppStore
internal import OpenSSL

/// The cryptographic part of verification: checks one JWS against the configured roots, not the content of its payload.
struct SignatureVerifier: Sendable {
    let roots: [Certificate]
    let cache: ChainCache

    /// Verifies a JWS and returns its payload.
    func verify(_ bytes: ArraySlice<UInt8>) throws(Flaw) -> SignedPayload {
        let jws: CompactJWS
        do {
            jws = try CompactJWS(bytes)
        } catch {
            throw Flaw(error)
        }
        // Untrusted here: the chain is validated at the payload's own date.
        let payload = Result { () throws(Flaw) in try UnverifiedPayload(jws.payload) }
        if case .success(let known) = payload, let chain = cache.chain(for: jws.headerSegment, at: known.second) {
            try Self.verifySignature(of: jws, by: chain)
            return SignedPayload(known, bytes: jws.payload, anchor: chain.anchor)
        }
        let (leaf, intermediate) = try Self.certificates(of: jws)
        let unverified = try payload.get()
        let chain = try SigningChain(leaf: leaf, intermediate: intermediate, roots: roots, at: unverified.second)
        try Self.verifySignature(of: jws, by: chain)
        cache.insert(chain, for: jws.headerSegment)
        return SignedPayload(unverified, bytes: jws.payload, anchor: chain.anchor)
    }

    private static func verifySignature(of jws: CompactJWS, by chain: SigningChain) throws(Flaw) {
        guard chain.key.verifyES256(signature: jws.signature, message: jws.signingInput) else {
            throw Flaw(ECDSASignature.isWellFormed(raw: jws.signature) ? .signatureInvalid : .signatureMalformed)
        }
    }

    private static func certificates(of jws: CompactJWS) throws(Flaw) -> (leaf: Certificate, intermediate: Certificate) {
        let header: JOSEHeader
        do {
            header = try jws.decodeHeader()
        } catch {
            throw Flaw(error)
        }
        guard header.alg == "ES256" else { throw Flaw(.algorithmNotES256) }
        guard header.x5c.count == 3 else { throw Flaw(.x5cCount, "\(header.x5c.count) certificates") }
        var certificates: [Certificate] = []
        for (index, der) in header.x5c.enumerated() {
            do {
                certificates.append(try Certificate(der: der))
            } catch {
                throw Flaw(error.code == .trailingBytes ? .certificateTrailingBytes : .certificateMalformed, "x5c[\(index)]: \(error)")
            }
        }
        return (certificates[0], certificates[1])
    }
}

extension Flaw {
    fileprivate init(_ malformed: MalformedJWS) {
        let reason: VerificationReason =
            switch malformed.code {
            case .parts: .malformedParts
            case .headerEncoding: .headerNotBase64URL
            case .payloadEncoding: .payloadNotBase64URL
            case .signatureEncoding: .signatureNotBase64URL
            case .headerJSON: .headerNotJSON
            case .unsupportedHeader: .headerNotSupported
            case .algorithmMissing: .algorithmMissing
            case .certificatesMissing: .x5cMissing
            case .certificateEncoding: .x5cNotBase64
            }
        self.init(reason, malformed.syntaxError.map(String.init(describing:)))
    }
}
