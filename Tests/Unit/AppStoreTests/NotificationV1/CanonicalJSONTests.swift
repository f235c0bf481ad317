import AppStore
import RandomJSON
import Randomness
import StrictJSON
import Testing

struct CanonicalJSONTests {
    @Test(arguments: 1...30) func `the canonical text is independent of order, white space, escapes and the password`(seed: Int) throws {
        var generator = SeededGenerator(seed: UInt64(seed))
        for _ in 0..<50 {
            guard case .object(let object) = JSONValue.object(JSONObject((0..<6).map { ("\($0)", generator.value(depth: 3)) })) else {
                return
            }
            var other = shuffled(object, &generator)
            other["password"] = .string(generator.text())
            let text = generator.looseText(of: .object(other))
            let read = try JSONParser().parseObject(Array(text.utf8))
            #expect(CanonicalJSON.text(ofNotificationV1: read) == CanonicalJSON.text(ofNotificationV1: object), "seed \(seed)")
            other["5"] = .string("another \(generator.next())")
            #expect(CanonicalJSON.text(ofNotificationV1: other) != CanonicalJSON.text(ofNotificationV1: object), "seed \(seed)")
        }
    }

    @Test(arguments: [
        (#"{"b":1.0,"a":1e2,"\u00e9":"\u0041"}"#, #"{"a":100,"b":1,"é":"A"}"#), (#"{"a":1.50}"#, #"{"a":1.50}"#),
        (#"{"a":{"password":"kept"},"password":"gone"}"#, #"{"a":{"password":"kept"}}"#), (#"{"a":[2,1]}"#, #"{"a":[2,1]}"#),
    ]) func `the canonical text has the documented form`(text: String, canonical: String) throws {
        let object = try JSONParser().parseObject(Array(text.utf8))
        #expect(String(decoding: CanonicalJSON.text(ofNotificationV1: object), as: UTF8.self) == canonical)
    }

    private func shuffled(_ object: JSONObject, _ generator: inout SeededGenerator) -> JSONObject {
        JSONObject(
            object.members.shuffled(using: &generator).map { member in
                if case .object(let inner) = member.value { return (member.name, .object(shuffled(inner, &generator))) }
                return (member.name, member.value)
            }
        )
    }
}
