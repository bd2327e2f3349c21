# Makes signed calls with Net::OAuth and LWP: a job as JSON on stdin, status and body of each call as JSON on stdout.
use strict;
use warnings;
use JSON::PP;
use LWP::UserAgent;
use Net::OAuth;
use URI;

my $job = decode_json(do { local $/; <STDIN> });
my $agent = LWP::UserAgent->new(timeout => 10);
my $number = 0;
my @answers;
for my $call (@{ $job->{calls} }) {
    my %key = (%{ $job->{key} }, %{ $call->{key} // {} });
    my @pairs = @{ $call->{parameters} };
    my @bytes = map { my $text = $_; utf8::encode($text); $text } map { @$_ } @pairs;
    my $is_get = $call->{method} eq 'GET';
    my %named = map { $_->[0] => $_->[1] } @pairs;
    # A hash holds each name once: what comes twice has to be read from the URL.
    my $is_repeated = keys %named < @pairs;
    my $plain = URI->new($job->{base} . $call->{path});
    my $full = $plain->clone;
    $full->query_form(\@bytes) if @bytes;
    my $request = Net::OAuth->request('protected resource')->new(
        consumer_key => $key{consumerKey},
        consumer_secret => $key{consumerSecret},
        token => $key{token},
        token_secret => $key{tokenSecret},
        request_url => $is_repeated ? $full : $plain,
        request_method => $call->{method},
        signature_method => 'HMAC-SHA1',
        timestamp => time,
        nonce => "perl-$$-" . ++$number,
        extra_params => $is_repeated ? {} : \%named,
    );
    $request->sign;
    my @header = (Authorization => $request->to_authorization_header);
    my @form = ('Content-Type' => 'application/x-www-form-urlencoded');
    my $answer;
    if ($call->{place} eq 'query') {
        $answer = $agent->get($request->to_url);
    } elsif ($is_get) {
        $answer = $agent->get($full, @header);
    } elsif ($call->{place} eq 'body') {
        $answer = $agent->post($plain, @form, Content => $request->to_post_body);
    } else {
        $answer = $agent->post($plain, @form, @header, Content => $full->query // '');
    }
    push @answers, { status => $answer->code + 0, body => $answer->decoded_content };
}
print encode_json(\@answers);
