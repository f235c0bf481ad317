/// The header of a JWS as far as it has any power here: the algorithm and the certificates.
///
/// `jwk`, `jku`, `x5u`, `kid` and unknown members are ignored; trust comes from configured roots alone.
package struct JOSEHeader: Hashable, Sendable {
    /// The algorithm's name as sent; the verifier decides which one it takes.
    package let alg: String
    /// The certificates in DER, leaf first, as many as were sent.
    package let x5c: [[UInt8]]

    /// Decodes a header's JSON.
    package init(_ json: [UInt8]) throws(MalformedJWS) {
        let object: JSONObject
        do {
            object = try JSONParser().parseObject(json)
        } catch {
            throw MalformedJWS(.headerJSON, syntaxError: error)
        }
        // RFC 7515 §4.1.11: what is critical must be understood. RFC 7797 and `zip` would make the signature be over other bytes.
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
