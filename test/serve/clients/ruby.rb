# Makes signed calls with ruby-oauth: a job as JSON on stdin, status and body of each call as JSON on stdout.
require "json"
require "oauth"
require "uri"

SCHEMES = { "header" => :header, "query" => :query_string, "body" => :body }.freeze

job = JSON.parse($stdin.read)
answers = job["calls"].map do |call|
  key = job["key"].merge(call["key"] || {})
  consumer = OAuth::Consumer.new(
    key["consumerKey"], key["consumerSecret"], site: job["base"], scheme: SCHEMES.fetch(call["place"])
  )
  token = OAuth::AccessToken.new(consumer, key["token"], key["tokenSecret"])
  parameters = call["parameters"]
  answer =
    if call["method"] == "GET"
      query = URI.encode_www_form(parameters)
      token.get(query.empty? ? call["path"] : "#{call['path']}?#{query}")
    else
      token.post(call["path"], parameters.to_h)
    end
  { status: answer.code.to_i, body: answer.body.dup.force_encoding("UTF-8") }
end
puts JSON.generate(answers)
