import AppStore
import RandomJSON
import Randomness
import Testing

struct NotificationBodyTests {
    @Test(
        arguments: [
            #"{"signedPayload":"a.b.c"}"#, #" { "signedPayload" : "a.b.c" } "#,
            #"{"other":[1,{"x":null}],"signedPayload":"a.b.c","more":-1.5e3}"#,
            #"{"signedPayload":"\u0061.b.c"}"#, #"{"\u0073ignedPayload":"a.b\u002ec"}"#, #"{"a":"é","signedPayload":"a.b.c","a":1}"#,
        ])
    func `the JWS is found in the body`(body: String) throws {
        #expect(Array(try NotificationBody.signedPayload(in: Array(body.utf8))) == Array("a.b.c".utf8))
        #expect(check(Array(body.utf8)) == nil)
    }

    @Test(
        arguments: [
            ("", .notJSON), ("signedPayload=a.b.c", .notJSON), (#"{"signedPayload":"a.b.c""#, .notJSON),
            (#"{"signedPayload":"a.b.c"}}"#, .notJSON),
            (#"{"signedPayload":"a.b.c","signedPayload":"d.e.f"}"#, .notJSON), (#"{"signedPayload":1,"signedPayload":"a.b.c"}"#, .notJSON),
            (#"{"signedPayload":"a.b.c","x":\#(String(repeating: "[", count: 100_000))"#, .notJSON),
            (#"{"signedPayload":"a.b.c","x":01}"#, .notJSON),
            (#"{"signedPayload":"a.b.c","x":"\ud800"}"#, .notJSON), (#"{"signedPayload":"a.b.c\q"}"#, .notJSON),
            ("{\"signedPayload\":\"a.b.c\n\"}", .notJSON),
            ("[1,]", .notJSON),
            ("[]", .notAnObject), ("null", .notAnObject), (#""a.b.c""#, .notAnObject), ("3", .notAnObject),
            ("{}", .noSignedPayload), (#"{"signedpayload":"a.b.c"}"#, .noSignedPayload), (#"{"signedPayload":null}"#, .noSignedPayload),
            (#"{"signedPayload":["a.b.c"]}"#, .noSignedPayload), (#"{"x":{"signedPayload":"a.b.c"}}"#, .noSignedPayload),
            (#"{"signedPayload":""}"#, .notACompactJWS), (#"{"signedPayload":"a.b"}"#, .notACompactJWS),
            (#"{"signedPayload":"a.b.c.d"}"#, .notACompactJWS),
            (#"{"signedPayload":".b.c"}"#, .notACompactJWS), (#"{"signedPayload":"a..c"}"#, .notACompactJWS),
            (#"{"signedPayload":"a.b."}"#, .notACompactJWS),
            (#"{"signedPayload":"a.b=.c"}"#, .notACompactJWS), (#"{"signedPayload":"a.b.c+"}"#, .notACompactJWS),
            (#"{"signedPayload":"a.b.é"}"#, .notACompactJWS),
            (#"{"signedPayload":"a.\u0000.c"}"#, .notACompactJWS), (#"{"signedPayload":"a b.c.d"}"#, .notACompactJWS),
        ] as [(String, NotificationBody.Refusal)]
    )
    func `a body that is not a notification is refused with the reason`(body: String, refusal: NotificationBody.Refusal) {
        #expect(throws: refusal) { try NotificationBody.signedPayload(in: Array(body.utf8)) }
        #expect(check(Array(body.utf8)) == refusal)
    }

    @Test func `a body that is not UTF-8 is refused`() {
        let payload = Array(#"{"x":""#.utf8) + [0xC3] + Array(#"","signedPayload":"a.b.c"}"#.utf8)
        #expect(check(payload) == .notJSON)
        let inside = Array(#"{"signedPayload":"a.b.c"#.utf8) + [0xFF] + Array("\"}".utf8)
        #expect(check(inside) == .notACompactJWS)
    }

    @Test func `every byte outside the alphabet is refused at every position`() {
        let alphabet = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
        for byte in UInt8.min...UInt8.max {
            for place in 0..<40 {
                var jws = [UInt8](repeating: UInt8(ascii: "Q"), count: 40) + Array(".b.c".utf8)
                jws[place] = byte
                let isRefused = check(Array(#"{"signedPayload":""#.utf8) + jws + Array("\"}".utf8)) != nil
                #expect(isRefused != alphabet.contains(byte), "byte \(byte) at \(place)")
            }
        }
    }

    @Test(arguments: 1...20)
    func `a mutated body never crashes a reader, and both readers agree`(seed: Int) {
        var generator = SeededGenerator(seed: UInt64(seed))
        let original = Array(#"{"a":[true,"\u00e9"],"signedPayload":"abc.def.ghi","z":{"n":1.5e3}}"#.utf8)
        for _ in 0..<1000 {
            let body = generator.mutate(original)
            do {
                let jws = try NotificationBody.signedPayload(in: body)
                #expect(jws.count(where: { $0 == UInt8(ascii: ".") }) == 2, "seed \(seed)")
                #expect(check(body) == nil, "seed \(seed)")
            } catch {
                #expect(check(body) == error, "seed \(seed)")
            }
        }
    }

    private func check(_ body: [UInt8]) -> NotificationBody.Refusal? {
        do {
            try body.withUnsafeBytes { try NotificationBody.check($0) }
            return nil
        } catch let refusal as NotificationBody.Refusal {
            return refusal
        } catch {
            Issue.record(error)
            return nil
        }
    }
}
