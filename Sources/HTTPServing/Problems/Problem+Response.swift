import HTTPTypes
package import Hummingbird
import NIOCore
import NIOHTTP1

extension Problem {
    /// The problem as the response of an endpoint.
    package var response: Response {
        var headers = HTTPFields()
        for (name, value) in headerFields {
            if let name = HTTPField.Name(name) { headers[name] = value }
        }
        let body = ResponseBody(byteBuffer: ByteBuffer(string: json))
        return Response(status: HTTPResponse.Status(code: status), headers: headers, body: body)
    }

    /// The problem as the last answer on a connection.
    ///
    /// - Parameter date: the value of the Date field.
    func finalParts(isHead: Bool, date: String) -> [HTTPServerResponsePart] {
        parts(hasBody: !isHead, fields: headerFields + [("date", date), ("connection", "close")])
    }

    /// The problem as an answer that keeps the connection open.
    ///
    /// - Parameter date: the value of the Date field.
    func parts(date: String) -> [HTTPServerResponsePart] {
        parts(hasBody: true, fields: headerFields + [("date", date)])
    }

    private func parts(hasBody: Bool, fields: [(String, String)]) -> [HTTPServerResponsePart] {
        let head = HTTPResponseHead(version: .http1_1, status: HTTPResponseStatus(statusCode: status), headers: HTTPHeaders(fields))
        let body = hasBody ? [HTTPServerResponsePart.body(.byteBuffer(ByteBuffer(string: json)))] : []
        return [.head(head)] + body + [.end(nil)]
    }
}
