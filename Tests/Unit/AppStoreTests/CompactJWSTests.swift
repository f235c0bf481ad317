import AppStore
import RandomJSON
import Randomness
import StrictJSON
import Testing

struct CompactJWSTests {
    @Test func `a compact JWS is split byte for byte`() throws {
        let bytes = SampleJWS.make()
        let slice = (Array("prefix".utf8) + bytes + Array("suffix".utf8))[6..<6 + bytes.count]
        let parts = bytes.split(separator: UInt8(ascii: "."))
        for jws in [try CompactJWS(bytes), try CompactJWS(slice)] {
            #expect(jws.headerSegment == Array(parts[0]))
            #expect(Array(jws.signingInput) == Array(parts[0]) + [UInt8(ascii: ".")] + Array(parts[1]))
            #expect(jws.payload == Array(#"{"a":1}"#.utf8))
            #expect(jws.signature == [UInt8](repeating: 7, count: 64))
        }
    }

    @Test(
        arguments: [
            ("", .parts), ("a", .parts), ("AA.AA", .parts), ("AA.AA.AA.AA", .parts), (".AA.AA", .parts), ("AA..AA", .parts),
            ("AA.AA.", .parts),
            ("..", .parts), ("....", .parts), ("AA.A=.AA", .payloadEncoding), ("AA.AB.AA", .payloadEncoding), ("AA.A.AA", .payloadEncoding),
            ("AA.AA.AA==", .signatureEncoding), ("AA.AA.AB", .signatureEncoding), ("AA.AA.A+", .signatureEncoding),
            ("AA.AA.AA\n", .signatureEncoding),
        ] as [(String, MalformedJWS.Code)]
    )
    func `a JWS that is not three parts of canonical base64url is refused`(text: String, code: MalformedJWS.Code) {
        #expect(throws: MalformedJWS(code)) { try CompactJWS(Array(text.utf8)) }
    }

    @Test(arguments: ["AB.AA.AA", "A.AA.AA", "A=.AA.AA", "é.AA.AA"])
    func `a header that is not canonical base64url is refused when it is decoded`(text: String) throws {
        let jws = try CompactJWS(Array(text.utf8))
        #expect(throws: MalformedJWS(.headerEncoding)) { try jws.decodeHeader() }
    }

    @Test func `the header gives algorithm and certificates`() throws {
        let header = try CompactJWS(SampleJWS.make()).decodeHeader()
        #expect(header.alg == "ES256")
        #expect(header.x5c == [[0, 0, 0], [1, 2, 3], [255]])
    }

    @Test func `unused header members are ignored`() throws {
        let header: JSONObject = [
            "typ": "JWT", "kid": "x", "jwk": ["kty": "EC"], "jku": "https://example.org", "x5u": 7, "alg": "none", "x5c": [], "new": .null,
        ]
        let decoded = try CompactJWS(SampleJWS.make(header: header)).decodeHeader()
        #expect(decoded.alg == "none")
        #expect(decoded.x5c.isEmpty)
    }

    @Test(
        arguments: [
            (["x5c": ["AAAA"]], .algorithmMissing), (["alg": 7, "x5c": ["AAAA"]], .algorithmMissing),
            (["alg": .null, "x5c": []], .algorithmMissing),
            (["alg": "ES256"], .certificatesMissing), (["alg": "ES256", "x5c": "AAAA"], .certificatesMissing),
            (["alg": "ES256", "x5c": ["AAAA", 1]], .certificatesMissing), (["alg": "ES256", "x5c": ["AAA"]], .certificateEncoding),
            (["alg": "ES256", "x5c": ["AA-_"]], .certificateEncoding), (["alg": "ES256", "x5c": ["AAAA\n"]], .certificateEncoding),
            (["alg": "ES256", "x5c": ["AB=="]], .certificateEncoding),
            (["alg": "ES256", "x5c": ["AAAA"], "crit": ["exp"]], .unsupportedHeader),
            (["alg": "ES256", "x5c": [], "crit": .null], .unsupportedHeader),
            (["alg": "ES256", "x5c": [], "b64": true], .unsupportedHeader),
            (["alg": "ES256", "x5c": [], "zip": "DEF"], .unsupportedHeader),
        ] as [(JSONObject, MalformedJWS.Code)]
    )
    func `a header is refused with the reason`(header: JSONObject, code: MalformedJWS.Code) throws {
        let jws = try CompactJWS(SampleJWS.make(header: header))
        #expect(throws: MalformedJWS(code)) { try jws.decodeHeader() }
    }

    @Test(
        arguments: [
            ("[]", .notAnObject, 0), ("{", .unexpectedEnd, 1), (#"{"alg":"ES256","alg":"none","x5c":[]}"#, .duplicateMember, 15),
            ("{}{}", .trailingBytes, 2),
        ] as [(String, JSONSyntaxError.Code, Int)]
    )
    func `a header that is not a JSON object is refused`(text: String, code: JSONSyntaxError.Code, offset: Int) throws {
        let jws = try CompactJWS(SampleJWS.make(headerText: Array(text.utf8), payload: [1]))
        let error = MalformedJWS(.headerJSON, syntaxError: JSONSyntaxError(code: code, offset: offset))
        #expect(throws: error) { try jws.decodeHeader() }
        #expect(error.description == "JWS: header_json (JSON: \(code.rawValue) at byte \(offset))")
    }

    @Test(arguments: 1...20)
    func `a mutated JWS never crashes`(seed: Int) {
        var generator = SeededGenerator(seed: UInt64(seed))
        let original = SampleJWS.make()
        for _ in 0..<500 {
            let mutated = generator.mutate(original)
            do {
                let jws = try CompactJWS(mutated)
                #expect(Array(jws.signingInput) + [UInt8(ascii: ".")] + Base64URL.encode(jws.signature) == mutated, "seed \(seed)")
                _ = try jws.decodeHeader()
            } catch {
                #expect(MalformedJWS.Code.allCases.contains(error.code), "seed \(seed)")
            }
        }
    }
}
