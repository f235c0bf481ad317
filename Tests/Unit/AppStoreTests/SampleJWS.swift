import AppStore
import StrictJSON

/// Compact JWS for tests of their form, with an invalid signature of 64 bytes.
enum SampleJWS {
    static func make(header: JSONObject = ["alg": "ES256", "x5c": ["AAAA", "AQID", "/w=="]], payload: JSONObject = ["a": 1]) -> [UInt8] {
        make(headerText: JSONSerializer.serialize(header), payload: JSONSerializer.serialize(payload))
    }

    static func make(headerText: [UInt8], payload: [UInt8]) -> [UInt8] {
        let parts = [headerText, payload, [UInt8](repeating: 7, count: 64)].map(Base64URL.encode)
        return Array(parts.joined(separator: [UInt8(ascii: ".")]))
    }
}
