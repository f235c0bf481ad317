import StrictJSON

/// The members of a JWS header that verification uses: the algorithm and the certificates.
///
/// Ignores `jwk`, `jku`, `x5u`, `kid` and unknown members: trust comes from configured roots alone.
package struct JOSEHeader: Hashable, Sendable {
    /// The algorithm's name as sent, unchecked.
    package let alg: String
    /// The certificates in DER, leaf first; their number is unchecked.
    package let x5c: [[UInt8]]

    package init(_ json: [UInt8]) throws(MalformedJWS) {
        let object: JSONObject
        do {
            object = try JSONParser().parseObject(json)
        } catch {
            throw MalformedJWS(.headerJSON, syntaxError: error)
        }
        // RFC 7515 §4.1.11: a critical member must be understood. `b64` (RFC 7797) and `zip` change which bytes are signed.
        for name in ["crit", "b64", "zip"] where object[name] != nil { throw MalformedJWS(.unsupportedHeader) }
        guard case .string(let alg)? = object["alg"] else { throw MalformedJWS(.algorithmMissing) }
        guard case .array(let entries)? = object["x5c"] else { throw MalformedJWS(.certificatesMissing) }
        self.alg = alg
        var certificates: [[UInt8]] = []
        for entry in entries {
            guard case .string(let text) = entry else { throw MalformedJWS(.certificatesMissing) }
            guard let der = Base64.decode(text) else { throw MalformedJWS(.certificateEncoding) }
            certificates.append(der)
        }
        x5c = certificates
    }
}
