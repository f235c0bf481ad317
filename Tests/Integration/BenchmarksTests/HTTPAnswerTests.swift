import Benchmarks
import Testing

struct HTTPAnswerTests {
    private func parse(_ text: String) -> HTTPAnswer { HTTPAnswer.parse(Array(text.utf8)[...]) }

    @Test func `an answer is complete only with the last byte of its body`() {
        let text = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\ndate: today\r\n\r\nabc"
        for length in 0..<text.utf8.count {
            #expect(HTTPAnswer.parse(Array(text.utf8.prefix(length))[...]) == .incomplete, "\(length) bytes")
        }
        #expect(parse(text) == .complete(status: 200, length: text.utf8.count))
        #expect(parse(text + "HTTP/1.1 503") == .complete(status: 200, length: text.utf8.count))
    }

    @Test func `the status is parsed`() {
        #expect(parse("HTTP/1.1 503 Service Unavailable\r\ncontent-length:0\r\n\r\n") == .complete(status: 503, length: 54))
    }

    @Test(arguments: [
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n", "HTTP/1.1 200 OK\r\ncontent-length: 0\r\nConnection: close\r\n\r\n",
        "HTTP/1.1 OK\r\ncontent-length: 0\r\n\r\n", "SSH-2.0-x\r\n\r\n", "HTTP/1.1 200 OK\r\ncontent-length: many\r\n\r\n",
    ]) func `an answer without a definite length is refused`(text: String) {
        #expect(parse(text) == .unusable)
    }
}
